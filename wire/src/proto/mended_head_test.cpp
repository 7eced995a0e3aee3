// What is mended in a response's head, and what is left for the parser to refuse.
#include "mended_head.hpp"

#include <gtest/gtest.h>

#include <string>

#include "pieces.hpp"

namespace wire::http::detail::mended_head_test {

using state = mending::state;

// The mended head, or the error; the same for every cut.
std::string mend(std::string_view text, const limits& l = {}) {
    std::string whole;
    for (const auto& cut : testing::all_cuts(text)) {
        std::string held;
        buffer out;
        mending m;
        for (const auto piece : cut) {
            held += piece;
            const testing::exact_copy copy(held);
            m = mend_response_head(copy, l, out);
            if (m.what != state::incomplete) break;
        }
        std::string said = m.what == state::incomplete ? "incomplete"
                           : m.what == state::failed   ? "error " + std::string(to_string(m.error))
                                                       : std::string(out.view());
        if (m.what == state::complete) said += "| " + std::to_string(m.consumed);
        if (whole.empty()) whole = said;
        EXPECT_EQ(said, whole) << "cut into " << cut.size() << " after " << cut[0].size();
    }
    return whole;
}
// Of a head with these lines, which end as they are given.
std::string fields(const std::string& lines) {
    const std::string said = mend("HTTP/1.1 200 OK\r\n" + lines + "\r\n");
    return said.starts_with("error") ? said : said.substr(17, said.find("\r\n\r\n") - 17);
}

TEST(mended_head, good_heads_stay_as_they_are) {
    const std::string good = "HTTP/1.1 200 OK\r\nA: b \r\n c\r\nContent-Length:5\r\n\r\n";
    EXPECT_EQ(mend(good), good + "| " + std::to_string(good.size()));
    EXPECT_EQ(mend(good + "hello"), good + "| " + std::to_string(good.size()));
}
TEST(mended_head, lines_may_end_in_lf) {
    EXPECT_EQ(mend("HTTP/1.0 200 OK\nA: b\nC: d\r\n\nbody"),
              "HTTP/1.0 200 OK\r\nA: b\r\nC: d\r\n\r\n| 28");
}
TEST(mended_head, status_lines_may_be_spaced_out) {
    EXPECT_EQ(mend("\r\n\nhttp/1.1 \t 200   Very  well \r\n\r\n"),
              "HTTP/1.1 200 Very  well\r\n\r\n| 35");
    EXPECT_EQ(mend("HTTP/1.1 204\n\n"), "HTTP/1.1 204 \r\n\r\n| 14");
    EXPECT_EQ(mend("HTTP/1.1 200 a\x01z\n\n"), "HTTP/1.1 200 a z\r\n\r\n| 18");
}
TEST(mended_head, fields_with_faults_are_mended_or_skipped) {
    EXPECT_EQ(fields("A : b\r\nC\t: d\r\n"), "A: b\r\nC: d");
    EXPECT_EQ(fields("A: b\x07\x7F"
                     "c\r\n"),
              "A: b  c");
    EXPECT_EQ(fields("no field\r\n with a fold\r\nA: b\r\n: c\r\nD E: f\r\nG: h\r\n"),
              "A: b\r\nG: h");
}
// Another reader of the same bytes must find the same end of the body, or this one must refuse.
TEST(mended_head, no_length_comes_of_it) {
    for (const std::string doubtful : {"Content-Length : 5\r\n", "Transfer-Encoding\t: chunked\r\n",
                                       "X Content-Length: 5\r\n", "content-length 5\r\n",
                                       "\x0b"
                                       "Transfer-Encoding: chunked\r\n",
                                       "junk, Content-Length: 5\r\n", "(: Content-Length: 5\r\n"})
        EXPECT_EQ(fields(doubtful), "error malformed field name") << doubtful;
    // The parser refuses these.
    EXPECT_EQ(fields("Content-Length: 5\x01\r\n"), "Content-Length: 5\x01");
    EXPECT_EQ(fields("A: b\rContent-Length: 5\r\n"), "A: b\rContent-Length: 5");
    EXPECT_EQ(fields(std::string("A: \0\r\n", 6)), std::string("A: \0", 4));
}
TEST(mended_head, what_is_no_http_is_refused_at_once) {
    for (const std::string other :
         {"S", "SSH-2.0-x", "HTTQ", "<html>\n\n", "\r\n\r\n\r\n", "ICY 200 OK\n\n", " HTTP/1.1"})
        EXPECT_EQ(mend(other), "error malformed status line") << other;
    EXPECT_EQ(mend("HTTP/1.1 200 OK\nA: b\n"), "incomplete");
}
TEST(mended_head, is_bounded) {
    limits l;
    l.max_header_bytes = 40;
    EXPECT_EQ(mend("HTTP/1.1 200 OK\nA: " + std::string(40, 'x'), l), "error header too large");
    EXPECT_EQ(mend("HTTP/1.1 200 OK\nA: " + std::string(19, 'x') + "\n\n", l).substr(0, 4), "HTTP");
    EXPECT_EQ(mend("HTTP/1.1 200 OK\nA: " + std::string(20, 'x') + "\n\n", l),
              "error header too large");
}

}  // namespace wire::http::detail::mended_head_test
