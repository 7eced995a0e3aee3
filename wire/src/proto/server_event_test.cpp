// Events as a client of the HTML standard reads them.
#include "wire/proto/server_event.hpp"

#include <gtest/gtest.h>

#include "event_reader.hpp"

namespace wire::http::server_event_test {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::event_reader;

std::string written(const server_event& e) {
    buffer out;
    EXPECT_EQ(append_event(out, e), errc::none);
    return std::string(out.view());
}

TEST(server_event, on_the_wire) {
    EXPECT_EQ(written({.data = "hello"}), "data: hello\n\n");
    EXPECT_EQ(written({.data = "a\nb", .type = "t", .id = "7", .retry = 1500ms}),
              "id: 7\nevent: t\nretry: 1500\ndata: a\ndata: b\n\n");
    EXPECT_EQ(written({.data = "", .id = ""}), "id:\ndata:\n\n");
    EXPECT_EQ(written({.data = "x", .retry = -5ms}), "retry: 0\ndata: x\n\n");
    buffer out;
    append_comment(out, "");
    append_comment(out, "one\r\ntwo");
    EXPECT_EQ(out.view(), ":\n\n: one\n: two\n\n");
}
TEST(server_event, arrives_as_it_was_but_for_its_ends_of_line) {
    for (const std::string& data :
         {""s, "one"s, " one"s, "  two"s, ":"s, "data: x"s, "a\nb"s, "a\rb"s, "a\r\nb"s, "\n"s,
          "\r\n\r\n"s, "\n\r"s, "a\n"s, "a\n\nevent: forged\n\ndata: b"s, "nul \0 here"s,
          "\xEF\xBB\xBF bom"s, "\xC3\xA4"s, std::string(100'000, 'x') + "\n"}) {
        event_reader reader;
        reader.read(written({.data = data, .type = "t", .id = "i"}));
        ASSERT_EQ(reader.events.size(), 1U);
        EXPECT_EQ(reader.events[0].data, event_reader::with_lf(data));
        EXPECT_EQ(reader.events[0].type, "t");
        EXPECT_EQ(reader.last_id, "i");
    }
}
TEST(server_event, ids_and_times_last_until_the_next) {
    event_reader reader;
    reader.read(written({.data = "a", .id = " x", .retry = 7ms}) + written({.data = "b"}));
    EXPECT_EQ(reader.events[1].type, "message");
    EXPECT_EQ(reader.last_id, " x");
    EXPECT_EQ(reader.retry_ms, 7);
    reader.read(written({.data = "c", .id = ""}));
    EXPECT_EQ(reader.last_id, "");
}
TEST(server_event, what_would_end_a_field_is_refused) {
    buffer out;
    for (const std::string& bad : {"a\nb"s, "a\r"s, "\n"s}) {
        EXPECT_EQ(append_event(out, {.data = "x", .type = bad}), errc::bad_argument);
        EXPECT_EQ(append_event(out, {.data = "x", .id = bad}), errc::bad_argument);
    }
    EXPECT_EQ(append_event(out, {.data = "x", .id = "a\0b"s}), errc::bad_argument);
    EXPECT_TRUE(out.empty());
}
TEST(server_event, comments_are_no_events) {
    buffer out;
    append_comment(out, "data: no\n\ndata: event");
    event_reader reader;
    reader.read(out.view());
    EXPECT_TRUE(reader.events.empty());
}

}  // namespace wire::http::server_event_test
