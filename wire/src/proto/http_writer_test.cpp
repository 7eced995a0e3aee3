// What heads and chunks look like, and that nothing can be smuggled into them.
#include "wire/proto/http_writer.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "wire/proto/http_parser.hpp"

namespace wire::http::http_writer_test {

TEST(head_writer, request) {
    buffer out;
    EXPECT_EQ(head_writer::request(out, "POST", "/a?b")
                  .field("Host", "x")
                  .field("Content-Length", 12)
                  .field("Empty", "")
                  .finish(),
              errc::none);
    EXPECT_EQ(out.view(), "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nEmpty: \r\n\r\n");
}
TEST(head_writer, response) {
    buffer out;
    out.append("before");
    EXPECT_EQ(head_writer::response(out, 404).raw("A: b\r\n").finish(), errc::none);
    EXPECT_EQ(head_writer::response(out, 299, "", 0).finish(), errc::none);
    EXPECT_EQ(head_writer::response(out, 200, "Fine").finish(), errc::none);
    EXPECT_EQ(out.view(),
              "beforeHTTP/1.1 404 Not Found\r\nA: b\r\n\r\nHTTP/1.0 299 \r\n\r\nHTTP/1.1 200 "
              "Fine\r\n\r\n");
}
TEST(head_writer, a_refused_head_leaves_nothing_behind) {
    const auto refused = [](auto write) {
        buffer out;
        out.append("kept");
        const errc e = write(out);
        EXPECT_EQ(out.view(), "kept");
        return e;
    };
    const auto field = [&](std::string_view name, std::string_view value) {
        return refused([&](buffer& out) {
            return head_writer::response(out, 200)
                .field("Ok", "1")
                .field(name, value)
                .field("After", "2")
                .finish();
        });
    };
    EXPECT_EQ(field("A", "x\r\nSet-Cookie: y"), errc::bad_header_value);
    EXPECT_EQ(field("A", "x\ny"), errc::bad_header_value);
    EXPECT_EQ(field("A", "x\ry"), errc::bad_header_value);
    EXPECT_EQ(field("A", std::string_view("x\0", 2)), errc::bad_header_value);
    EXPECT_EQ(field("A\r\nB", "x"), errc::bad_header_name);
    EXPECT_EQ(field("A:", "x"), errc::bad_header_name);
    EXPECT_EQ(field("", "x"), errc::bad_header_name);
    EXPECT_EQ(
        refused([](buffer& out) { return head_writer::response(out, 200, "a\r\nb").finish(); }),
        errc::bad_argument);
    EXPECT_EQ(refused([](buffer& out) { return head_writer::response(out, 99).finish(); }),
              errc::bad_argument);
    EXPECT_EQ(
        refused([](buffer& out) { return head_writer::request(out, "GET", "/a b").finish(); }),
        errc::bad_target);
    EXPECT_EQ(refused([](buffer& out) {
                  return head_writer::request(out, "GET", "/\r\nHost: evil").finish();
              }),
              errc::bad_target);
    EXPECT_EQ(refused([](buffer& out) { return head_writer::request(out, "GET", "").finish(); }),
              errc::bad_target);
    EXPECT_EQ(refused([](buffer& out) { return head_writer::request(out, "G T", "/").finish(); }),
              errc::bad_argument);
}
TEST(chunks, are_what_the_parser_reads) {
    buffer out;
    EXPECT_EQ(head_writer::response(out, 200).field("Transfer-Encoding", "chunked").finish(),
              errc::none);
    append_chunk(out, "hello ");
    append_chunk(out, "");  // would be the end
    append_chunk(out, std::string(300, 'x'));
    append_last_chunk(out);
    EXPECT_NE(out.view().find("\r\n12c\r\nxxx"), std::string_view::npos);

    limits l;
    response_parser parser(l);
    response_head head;
    std::string body;
    for (bool done = false; !done;) {
        const step s = parser.parse(out.view(), head);
        ASSERT_NE(s.what, event::error);
        ASSERT_NE(s.what, event::need_more);
        if (s.what == event::body) body += s.data;
        done = s.what == event::end;
        out.consume(s.consumed);
    }
    EXPECT_EQ(body, "hello " + std::string(300, 'x'));
    EXPECT_TRUE(out.empty());
}
TEST(format_date, agrees_with_the_c_library) {
    for (std::int64_t t : {784111777L, 0L, -1L, 951782400L, 951868799L, 951868800L, 4107542400L,
                           1709164800L, 253402300799L, -62135596800L}) {
        for (int i = 0; i < 400; ++i, t += 86400 * 37 + 12345) {
            if (t > 253402300799) break;
            const std::time_t raw = t;
            std::tm parts{};
            gmtime_r(&raw, &parts);
            char expected[64];
            std::strftime(expected, sizeof expected, "%a, %d %b %Y %H:%M:%S GMT", &parts);
            if (parts.tm_year + 1900 < 1000) continue;  // strftime does not pad
            const auto text = format_date(t);
            ASSERT_EQ(std::string_view(text.data(), text.size()), expected) << t;
        }
    }
    const auto text = format_date(784111777);
    EXPECT_EQ(std::string_view(text.data(), text.size()), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace wire::http::http_writer_test
