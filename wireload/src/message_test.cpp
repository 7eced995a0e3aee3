#include "message.hpp"

#include <gtest/gtest.h>

namespace wireload {
namespace {

std::string request(options o, const std::string& url) { return serialise_request(o, *wire::parse_url(url)); }

TEST(SerialiseRequest, IsMinimal) {
    EXPECT_EQ(request({}, "http://127.0.0.1:8080/a?b"), "GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");
}

TEST(SerialiseRequest, AddsWhatWasAskedFor) {
    options o;
    o.method = "POST";
    o.body = "{}";
    o.headers = {{"Content-Type", "application/json"}, {"hOST", "example.org"}};
    o.keep_alive = false;
    EXPECT_EQ(request(o, "http://127.0.0.1/"),
              "POST / HTTP/1.1\r\nHost: example.org\r\nContent-Type: application/json\r\nConnection: close\r\n"
              "Content-Length: 2\r\n\r\n{}");
    o = {};
    o.method = "POST";
    EXPECT_EQ(request(o, "http://127.0.0.1/"), "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n");
}

TEST(MessageTemplate, PutsTheCounterIn) {
    const message_template m("{\"c\":{c}}", false);
    EXPECT_EQ(m.text(17), "{\"c\":17}");
    EXPECT_TRUE(m.equals("{\"c\":17}", 17));
    EXPECT_FALSE(m.equals("{\"c\":17}", 18));
    EXPECT_FALSE(m.equals("{\"c\":17", 17));
    EXPECT_FALSE(m.equals("{\"c\":170}", 17));
    EXPECT_FALSE(m.equals("", 17));
    const message_template plain("hello", false);
    EXPECT_EQ(plain.text(3), "hello");
    EXPECT_TRUE(plain.equals("hello", 4));
    EXPECT_FALSE(plain.equals("hallo", 4));
}

// However the frame is cut, the parts put together are the same bytes.
TEST(MessageTemplate, PartsOfAFrameMakeTheWhole) {
    for (const std::string& text : {std::string("{c}"), "before{c}" + std::string(300, 'x'), std::string("none"), std::string()}) {
        const message_template m(text, true);
        const wire::ws::mask_key key{1, 2, 3, 4};
        wire::buffer expected;
        wire::ws::append_frame(expected, wire::ws::opcode::binary, m.text(9876), key);
        for (const std::size_t most : {1UL, 2UL, 3UL, 7UL, 100UL, 1000UL}) {
            wire::buffer out;
            std::size_t offset = 0;
            do {
                offset = m.append_frame(out, 9876, key, offset, most);
            } while (offset != 0);
            EXPECT_EQ(out.view(), expected.view()) << text << " by " << most;
        }
    }
}

}  // namespace
}  // namespace wireload
