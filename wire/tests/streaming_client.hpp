// An asynchronous client whose bodies come and go in pieces.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "loop_client.hpp"
#include "wire/client/streaming.hpp"

namespace wire::testing {

struct streaming_client : loop_client {
    std::string body;
    std::optional<result<http::reply>> got;
    int heads = 0;

    http::response_pieces pieces() {
        got.reset();
        body.clear();
        http::response_pieces to;
        to.head = [this](const http::reply& r) {
            ++heads;
            EXPECT_EQ(r.body(), "");
        };
        to.data = [this](std::string_view piece) { body += piece; };
        to.end = [this](result<http::reply> r) { got.emplace(std::move(r)); };
        return to;
    }
    void run() {
        ASSERT_TRUE(run_until([&] { return got.has_value(); }));
    }
    void run_for(std::chrono::milliseconds time) {
        const auto until = clock::now() + time;
        while (clock::now() < until) loop->run_once(until - clock::now());
    }
    // Sends n bytes in pieces of that size.
    static http::body_source counted(std::size_t n, std::size_t piece, bool known) {
        http::body_source s;
        s.pull = [n, piece, sent = std::size_t{0}](
                     buffer& out, std::size_t most) mutable -> result<http::source_state> {
            const std::size_t now = std::min({piece, most, n - sent});
            out.append(std::string(now, 'u'));
            sent += now;
            return sent == n ? http::source_state::end : http::source_state::more;
        };
        if (known) s.length = n;
        return s;
    }
    static http::client_request upload(std::string url, http::body_source s) {
        http::client_request r;
        r.method = http::method::post;
        r.url = std::move(url);
        r.source = std::move(s);
        return r;
    }
};

}  // namespace wire::testing
