#include "output/print_request.hpp"

#include <gtest/gtest.h>

#include "command_line/command_line.hpp"

#include "wire/proto/ws_frame.hpp"

namespace wireload::print_request_test {

std::string printed(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"wireload", "--print", "request"});
    auto parsed = parse_command_line(arguments, 1);
    auto made = make_plan(std::get<options>(std::move(parsed)));
    return request_bytes(*std::get<std::unique_ptr<plan>>(made));
}

TEST(PrintRequest, IsTheRequestByteForByte) {
    // A name that does not exist: nothing is looked up.
    EXPECT_EQ(printed({"-b", "{\"a\":1}", "-H", "X-A: b", "http://no-such-host.invalid:81/p?q"}),
              "POST /p?q HTTP/1.1\r\nHost: no-such-host.invalid:81\r\nX-A: b\r\nContent-Length: "
              "7\r\n\r\n{\"a\":1}");
}

TEST(PrintRequest, WithTheValuesOfTheFirstRequestAndOnceForEachTarget) {
    EXPECT_EQ(printed({"-b", "n={counter}", "http://a.invalid/x{counter}", "http://b.invalid/"}),
              "POST /x1 HTTP/1.1\r\nHost: a.invalid\r\nContent-Length: 3\r\n\r\nn=1"
              "POST / HTTP/1.1\r\nHost: b.invalid\r\nContent-Length: 3\r\n\r\nn=1");
}

TEST(PrintRequest, OfAWebSocketIsTheHandshakeAndTheFirstFrame) {
    const std::string text = printed({"--message", "n {c}", "ws://no-such-host.invalid/chat"});
    EXPECT_TRUE(text.starts_with("GET /chat HTTP/1.1\r\n")) << text;
    const std::size_t end = text.find("\r\n\r\n") + 4;
    std::string frame = text.substr(end);
    const auto head = wire::ws::read_frame_header(frame, wire::ws::role::server);
    ASSERT_EQ(head.error, wire::errc::none);
    ASSERT_EQ(head.header.length, 3U);
    ASSERT_EQ(frame.size(), head.size + 3);
    static constexpr unsigned char key[] = {0x12, 0x34, 0x56, 0x78};
    std::string payload = frame.substr(head.size);
    for (std::size_t i = 0; i < payload.size(); ++i)
        payload[i] = static_cast<char>(static_cast<unsigned char>(payload[i]) ^ key[i % 4]);
    EXPECT_EQ(payload, "n 1");
}

TEST(PrintRequest, ShowsWhatIsOfferedAndTheMessageAsAServerThatAgreesGetsIt) {
    const std::string text =
        printed({"--deflate", "--message", std::string(1000, 'x'), "ws://no-such-host.invalid/"});
    const std::size_t end = text.find("\r\n\r\n") + 4;
    EXPECT_PRED_FORMAT2(testing::IsSubstring,
                        "\r\nSec-WebSocket-Extensions: permessage-deflate; "
                        "server_no_context_takeover; client_no_context_takeover",
                        text.substr(0, end));
    const auto head = wire::ws::read_frame_header(std::string_view(text).substr(end),
                                                  wire::ws::role::server, true);
    ASSERT_EQ(head.error, wire::errc::none);
    EXPECT_EQ(head.header.reserved, wire::ws::compressed_bit);
    EXPECT_EQ(text.size(), end + head.size + head.header.length);
    EXPECT_LT(head.header.length, 50U);
}

TEST(PrintRequest, OnATerminalNoByteDoesAnythingButShow) {
    EXPECT_EQ(for_terminal("GET /\r\n\r\na\tb"), "GET /\n\na\tb\n");
    EXPECT_EQ(for_terminal(std::string_view("\x1b[2J\0\xff", 6)), "\\x1b[2J\\x00\\xff\n");
    EXPECT_EQ(for_terminal("gr\xc3\xbc\xc3\x9f\n"), "gr\xc3\xbc\xc3\x9f\n");
    EXPECT_EQ(for_terminal(""), "");
}

}  // namespace wireload::print_request_test
