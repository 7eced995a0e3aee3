// Responses of servers that keep to RFC 9112 less than today's do.
#include <gtest/gtest.h>

#include <string>

#include "loop_client.hpp"
#include "raw_server.hpp"

namespace wire::http::old_servers_test {

using testing::raw_server;

struct old_servers : testing::loop_client {
    // What a request gets that is answered so, in single bytes or at once: "STATUS fields body".
    std::string answered(const std::string& with, bool bytewise) {
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            while (!v.request().empty()) {
                // The client may have closed meanwhile.
                const std::size_t step = bytewise ? 1 : with.size();
                for (std::size_t i = 0; i < with.size(); i += step)
                    ::send(v.fd(), with.data() + i, step, MSG_NOSIGNAL);
            }
        });
        auto c = *client::create(options);
        std::string all;
        for (int i = 0; i < 2; ++i) {
            const auto got = c.get(raw.url());
            if (!got) return std::string(to_string(got.code()));
            std::string said = std::to_string(got->status());
            for (const auto& f : got->headers())
                said += " [" + std::string(f.name) + "=" + std::string(f.value) + "]";
            said += " " + std::string(got->body());
            EXPECT_TRUE(i == 0 || said == all) << said;
            all = said;
        }
        EXPECT_EQ(c.connections_opened(), 1U);
        return all;
    }
    void expect(const std::string& with, const std::string& said) {
        for (const bool bytewise : {false, true}) EXPECT_EQ(answered(with, bytewise), said) << with;
    }
};

TEST_F(old_servers, may_fold_fields) {
    expect("HTTP/1.1 200 OK\r\nX: a\r\n\tb\r\n  c\r\nContent-Length: 3\r\n\r\n\r\n ",
           "200 [X=a  \tb    c] [Content-Length=3] \r\n ");
}
TEST_F(old_servers, may_repeat_a_length) {
    expect("HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\nContent-Length: 3\r\n\r\nabc",
           "200 [Content-Length=3, 3] [Content-Length=3] abc");
}
const std::string malformed =
    "\r\nhttp/1.1  200 Fine\nX : a\n b\nno field\nContent-Length: 3\n\n\n\r\n";
TEST_F(old_servers, are_refused_malformed_heads) {
    expect(malformed, "malformed status line");
    expect(malformed.substr(2), "malformed status line");
    expect("HTTP/1.1 200 OK\nContent-Length: 0\n\n", "a line does not end in CRLF");
}
TEST_F(old_servers, are_understood_where_that_risk_is_taken) {
    options.risky_accept_malformed_heads = true;
    expect(malformed, "200 [X=a   b] [Content-Length=3] \n\r\n");
    expect(
        "HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\nTransfer-Encoding: "
        "chunked\n\n1\r\nx\r\n0\r\n\r\n",
        "200 [Transfer-Encoding=chunked] x");
}
TEST_F(old_servers, may_not_be_ambiguous_even_then) {
    options.risky_accept_malformed_heads = true;
    expect("HTTP/1.1 200 OK\nContent-Length : 3\n\nabc", "malformed field name");
    expect("HTTP/1.1 200 OK\nContent-Length: 3\nContent-Length: 4\n\nabcd",
           "more than one message length");
    expect("HTTP/1.1 200 OK\nContent-Length:\n 3\n\nabc", "folded field line");
    expect("HTTP/1.1 200 OK\nX: a\rContent-Length: 3\n\nabc", "a line does not end in CRLF");
    expect("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1\nx\n0\n\n", "malformed chunk");
    expect("SSH-2.0-x\r\n", "malformed status line");
}

}  // namespace wire::http::old_servers_test
