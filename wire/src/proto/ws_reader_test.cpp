// Messages cut everywhere, fragments, control frames between them, and each refusal.
#include "wire/proto/ws_reader.hpp"

#include <gtest/gtest.h>

#include <string>

#include "pieces.hpp"

namespace wire::ws::ws_reader_test {

using namespace std::string_literals;

constexpr mask_key key{0xA1, 0x02, 0xF3, 0x44};

std::string frame(opcode op, std::string_view payload, role reader, bool fin = true) {
    buffer out;
    append_frame(out, op, payload, reader == role::server ? std::optional(key) : std::nullopt, fin);
    return std::string(out.view());
}

std::string describe(const step& s) {
    const std::string data(s.data);
    switch (s.what) {
    case event::message: return (s.op == opcode::text ? "text " : "binary ") + data;
    case event::ping: return "ping " + data;
    case event::pong: return "pong " + data;
    case event::close: return "close " + std::to_string(s.code) + " " + data;
    case event::error: return "error " + std::string(to_string(s.error));
    case event::need_more: break;
    }
    return "";
}

std::string read_pieces(const testing::pieces& cut, role r, const limits& l) {
    message_reader reader(r, l);
    std::string held;
    std::string said;
    for (const auto piece : cut) {
        held += piece;
        std::size_t at = 0;
        for (;;) {
            testing::exact_copy in(std::string_view(held).substr(at));
            const step s = reader.read({in.data(), in.size()});
            if (s.what == event::need_more) {
                at += s.consumed;
                break;
            }
            said += (said.empty() ? "" : "; ") + describe(s);
            if (s.what == event::error) return said;
            at += s.consumed;
        }
        held.erase(0, at);
    }
    if (!held.empty()) said += "; left " + std::to_string(held.size());
    return said;
}

std::string read(std::string_view text, role r, const limits& l = {}) {
    const std::string whole = read_pieces({text}, r, l);
    for (const auto& cut : testing::all_cuts(text)) {
        EXPECT_EQ(read_pieces(cut, r, l), whole)
            << "cut into " << cut.size() << " after " << cut[0].size();
    }
    return whole;
}

class message_reader_roles : public ::testing::TestWithParam<role> {
protected:
    std::string f(opcode op, std::string_view payload, bool fin = true) {
        return frame(op, payload, GetParam(), fin);
    }
    std::string reads(std::string_view text, const limits& l = {}) {
        return read(text, GetParam(), l);
    }
};
INSTANTIATE_TEST_SUITE_P(both, message_reader_roles, ::testing::Values(role::server, role::client),
                         [](const auto& i) {
                             return i.param == role::server ? "server" : "client";
                         });

TEST_P(message_reader_roles, messages) {
    EXPECT_EQ(
        reads(f(opcode::text, "hello") + f(opcode::binary, "\xFF\x00"s) + f(opcode::text, "")),
        "text hello; binary \xFF\x00; text "s);
    const std::string longer(300, 'x');
    EXPECT_EQ(reads(f(opcode::text, longer)), "text " + longer);
}
TEST_P(message_reader_roles, fragments_with_control_frames_between) {
    EXPECT_EQ(reads(f(opcode::text, "a", false) + f(opcode::ping, "p") +
                    f(opcode::continuation, "b", false) + f(opcode::pong, "") +
                    f(opcode::continuation, "", false) + f(opcode::continuation, "c") +
                    f(opcode::binary, "d")),
              "ping p; pong ; text abc; binary d");
}
TEST_P(message_reader_roles, characters_across_fragments) {
    EXPECT_EQ(reads(f(opcode::text, "\xE2\x82", false) + f(opcode::continuation, "\xAC")),
              "text \xE2\x82\xAC");
    EXPECT_EQ(reads(f(opcode::text, "\xE2\x82", false) + f(opcode::continuation, "x")),
              "error text that is not UTF-8");
    EXPECT_EQ(reads(f(opcode::text, "\xE2\x82")), "error text that is not UTF-8");
    EXPECT_EQ(reads(f(opcode::text, "\xE2\x82", false) + f(opcode::continuation, "")),
              "error text that is not UTF-8");
    EXPECT_EQ(reads(f(opcode::binary, "\xE2\x82")), "binary \xE2\x82");
    // Does not wait for the end.
    EXPECT_EQ(reads(f(opcode::text, "\xC0\xAF", false)), "error text that is not UTF-8");
}
TEST_P(message_reader_roles, order_of_frames) {
    EXPECT_EQ(reads(f(opcode::continuation, "a")), "error malformed WebSocket frame");
    EXPECT_EQ(reads(f(opcode::text, "a", false) + f(opcode::text, "b")),
              "error malformed WebSocket frame");
    EXPECT_EQ(reads(f(opcode::text, "a") + f(opcode::continuation, "b")),
              "text a; error malformed WebSocket frame");
}
TEST_P(message_reader_roles, close) {
    EXPECT_EQ(reads(f(opcode::close, "")), "close 1005 ");
    EXPECT_EQ(reads(f(opcode::close,
                      "\x03\xE8"
                      "bye")),
              "close 1000 bye");
    EXPECT_EQ(reads(f(opcode::close, "\x03")), "error bad WebSocket close code");
    EXPECT_EQ(reads(f(opcode::close, "\x03\xED")), "error bad WebSocket close code");
    EXPECT_EQ(reads(f(opcode::close, "\x03\xE8\xFF")), "error text that is not UTF-8");
}
TEST_P(message_reader_roles, limits_are_exact_and_count_all_fragments) {
    limits l;
    l.max_message_bytes = 5;
    EXPECT_EQ(reads(f(opcode::text, "12345"), l), "text 12345");
    EXPECT_EQ(reads(f(opcode::text, "123456"), l), "error WebSocket message too large");
    EXPECT_EQ(reads(f(opcode::text, "123", false) + f(opcode::continuation, "45"), l),
              "text 12345");
    EXPECT_EQ(reads(f(opcode::text, "123", false) + f(opcode::continuation, "456"), l),
              "error WebSocket message too large");
    EXPECT_EQ(reads(f(opcode::text, "12345") + f(opcode::text, "12345"), l),
              "text 12345; text 12345");
    // Refused by its header alone.
    buffer header;
    auto space = header.prepare(max_frame_header_bytes);
    header.commit(write_frame_header(
        std::span<char, max_frame_header_bytes>(space.data(), max_frame_header_bytes),
        opcode::binary, 0x7FFFFFFFFFFFFFFF, true,
        GetParam() == role::server ? std::optional(key) : std::nullopt));
    EXPECT_EQ(reads(header.view(), l), "error WebSocket message too large");
}
TEST(message_reader, masking_is_as_the_role_demands) {
    EXPECT_EQ(read(frame(opcode::text, "a", role::client), role::server),
              "error malformed WebSocket frame");
    EXPECT_EQ(read(frame(opcode::text, "a", role::server), role::client),
              "error malformed WebSocket frame");
}
TEST(message_reader, a_whole_message_is_not_copied) {
    limits l;
    message_reader reader(role::server, l);
    std::string bytes = frame(opcode::text, "hello", role::server);
    const step s = reader.read({bytes.data(), bytes.size()});
    EXPECT_EQ(s.data, "hello");
    EXPECT_EQ(s.data.data(), bytes.data() + 6);
}
TEST(message_reader, says_what_an_unfinished_message_holds) {
    limits l;
    message_reader reader(role::server, l);
    std::string begun = frame(opcode::text, std::string(1000, 'x'), role::server);
    EXPECT_FALSE(reader.in_message());
    reader.read({begun.data(), begun.size() - 1});
    EXPECT_TRUE(reader.in_message());
    EXPECT_EQ(reader.received_bytes(), 999U);
    EXPECT_GE(reader.held_bytes(), 999U);
    EXPECT_EQ(reader.read({begun.data() + begun.size() - 1, 1}).what, event::message);
    EXPECT_FALSE(reader.in_message());
    reader.abandon();
    EXPECT_EQ(reader.held_bytes(), 0U);
    EXPECT_EQ(reader.read({}).what, event::error);
}
// Of many sessions most wait, and what each keeps is not in the budget for unfinished messages.
TEST(message_reader, holds_nothing_between_messages) {
    limits l;
    message_reader reader(role::server, l);
    std::string sent = frame(opcode::text, std::string(1000, 'x'), role::server, false) +
                       frame(opcode::continuation, std::string(1000, 'y'), role::server);
    const step s = reader.read({sent.data(), sent.size()});
    EXPECT_EQ(s.what, event::message);
    EXPECT_EQ(s.data.size(), 2000U);
    EXPECT_GE(reader.held_bytes(), 2000U);
    EXPECT_EQ(reader.read({}).what, event::need_more);
    EXPECT_EQ(reader.held_bytes(), 0U);
}
TEST(message_reader, an_error_is_final) {
    limits l;
    message_reader reader(role::client, l);
    std::string bad = "\x83";
    EXPECT_EQ(reader.read({bad.data(), bad.size()}).what, event::error);
    std::string good = frame(opcode::text, "a", role::client);
    EXPECT_EQ(reader.read({good.data(), good.size()}).error, errc::bad_frame);
}

}  // namespace wire::ws::ws_reader_test
