// Handshakes of RFC 6455, and each way to get one wrong.
#include "wire/proto/ws_handshake.hpp"

#include <gtest/gtest.h>

#include <string>

namespace wire::ws::ws_handshake_test {

const std::string sample_key = "dGhlIHNhbXBsZSBub25jZQ==";  // RFC 6455 section 1.3

upgrade_check check(const std::string& fields, const std::string& method = "GET") {
    static limits l;
    static http::request_head head;
    static std::string text;  // the views in the answer point into it
    http::request_parser parser(l);
    text = method + " /chat HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
    EXPECT_EQ(parser.parse(text, head).what, http::event::head) << text;
    return check_upgrade_request(head);
}
result<void> answer(const std::string& response, std::string_view offered = {}) {
    limits l;
    http::response_head head;
    http::response_parser parser(l);
    EXPECT_EQ(parser.parse(response, head).what, http::event::head) << response;
    return check_upgrade_response(head, sample_key, offered);
}
const std::string good =
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
    "13\r\nSec-WebSocket-Key: " +
    sample_key + "\r\n";
const std::string accepted =
    "HTTP/1.1 101 X\r\nUpgrade: WebSocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: "
    "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";

TEST(ws_handshake, the_sample_of_the_rfc) {
    EXPECT_EQ(accept_key(sample_key), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}
TEST(ws_handshake, requests_accepted) {
    const auto c = check(good);
    EXPECT_TRUE(c.wanted);
    EXPECT_EQ(c.error, errc::none);
    EXPECT_EQ(c.key, sample_key);
    EXPECT_EQ(check("UPGRADE: h2c, WebSocket\r\nConnection: keep-alive, "
                    "upgrade\r\nsec-websocket-version: 13\r\nSec-WebSocket-Key: " +
                    sample_key + "\r\n")
                  .error,
              errc::none);
    // The example of RFC 6455 section 4.1, with bits that stand for nothing.
    std::string example = good;
    example.replace(example.find(sample_key), sample_key.size(), "AQIDBAUGBwgJCgsMDQ4PEC==");
    EXPECT_EQ(check(example).error, errc::none);
    EXPECT_EQ(check(example).key, "AQIDBAUGBwgJCgsMDQ4PEC==");
}
TEST(ws_handshake, other_requests_are_none_of_its_business) {
    EXPECT_FALSE(check("").wanted);
    EXPECT_FALSE(check("Upgrade: h2c\r\nConnection: Upgrade\r\n").wanted);
    EXPECT_FALSE(check("Upgrade: websocket\r\n").wanted);
}
TEST(ws_handshake, requests_refused) {
    const auto refusal = [](const std::string& fields, const std::string& method = "GET") {
        const auto c = check(fields, method);
        EXPECT_TRUE(c.wanted);
        EXPECT_EQ(c.error, errc::bad_handshake);
        return c.refusal;
    };
    const std::string base = "Upgrade: websocket\r\nConnection: Upgrade\r\n";
    const std::string version = "Sec-WebSocket-Version: 13\r\n";
    EXPECT_EQ(refusal(good, "POST"), 400);
    EXPECT_EQ(
        refusal(base + "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: " + sample_key + "\r\n"),
        426);
    EXPECT_EQ(refusal(base + "Sec-WebSocket-Key: " + sample_key + "\r\n"), 400);
    EXPECT_EQ(refusal(base + version), 400);
    EXPECT_EQ(refusal(good + "Sec-WebSocket-Key: " + sample_key + "\r\n"), 400);
    EXPECT_EQ(refusal(base + version + "Sec-WebSocket-Key: c2hvcnQ=\r\n"), 400);
    for (const std::string key :
         {"not base64!", "", "dGhlIHNhbXBsZSBub25jZQ",
          "dGhlIHNhbXBsZSBub25jZQA=", "dGhlIHNhbXBsZSBub25jZQAA", "dGhlIHNhbXBsZSBub25jZ===",
          "dGhlIHNhbX=sZSBub25jZQ==", "dGhlIHNhbXBsZSBub25j!Q==", "dGhlIHNhbXBsZSBub25jZQ==AAAA"})
        EXPECT_EQ(refusal(base + version + "Sec-WebSocket-Key: " + key + "\r\n"), 400) << key;
    EXPECT_EQ(refusal(good + "Content-Length: 3\r\n"), 400);
}
TEST(ws_handshake, responses) {
    EXPECT_TRUE(answer(accepted + "\r\n"));
    EXPECT_TRUE(answer(accepted + "Sec-WebSocket-Protocol: chat\r\n\r\n", "super, chat"));
    const auto refused = [](const std::string& text, std::string_view offered = {}) {
        const auto r = answer(text, offered);
        return r ? std::string("accepted") : r.error().message;
    };
    EXPECT_EQ(refused("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"),
              "WebSocket handshake: the server answered 403, not 101");
    EXPECT_NE(refused(accepted + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n")
                  .find("extension"),
              std::string::npos);
    EXPECT_NE(refused(accepted + "Sec-WebSocket-Protocol: chat\r\n\r\n").find("subprotocol"),
              std::string::npos);
    EXPECT_NE(refused(accepted + "Sec-WebSocket-Protocol: \r\n\r\n", "chat,").find("subprotocol"),
              std::string::npos);
    EXPECT_NE(
        refused(accepted + "Sec-WebSocket-Protocol: Chat\r\n\r\n", "chat").find("subprotocol"),
        std::string::npos);
    EXPECT_NE(refused("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: "
                      "upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n")
                  .find("Accept"),
              std::string::npos);
    EXPECT_NE(refused("HTTP/1.1 101 X\r\nConnection: upgrade\r\n\r\n").find("Upgrade"),
              std::string::npos);
    EXPECT_NE(refused("HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n").find("Connection"),
              std::string::npos);
    // RFC 6455 section 4.1: the field is "websocket", and not a list with it.
    const std::string rest = accepted.substr(accepted.find("Connection"));
    for (const std::string upgrade :
         {"Upgrade: h2c, websocket\r\n", "Upgrade: websocket\r\nUpgrade: websocket\r\n"})
        EXPECT_NE(refused("HTTP/1.1 101 X\r\n" + upgrade + rest + "\r\n").find("Upgrade"),
                  std::string::npos);
}
TEST(ws_handshake, the_server_prefers_among_what_is_offered) {
    const std::vector<std::string> spoken{"graphql-transport-ws", "graphql-ws", "not a token"};
    const auto chosen = [&](const std::vector<std::string_view>& offers) {
        http::header_list fields;
        for (const std::string_view o : offers) fields.push_back({"sec-websocket-protocol", o});
        return choose_protocol(fields, spoken);
    };
    EXPECT_EQ(chosen({"graphql-ws"}), "graphql-ws");
    EXPECT_EQ(chosen({"graphql-ws, graphql-transport-ws"}), "graphql-transport-ws");
    EXPECT_EQ(chosen({"other", " \tgraphql-ws\t,", ",,"}), "graphql-ws");
    for (const std::string_view none : {"", ",", "graphql", "GraphQL-WS", "not a token", "a b,c"})
        EXPECT_EQ(chosen({none}), "") << none;
    EXPECT_EQ(chosen({}), "");
}
TEST(ws_handshake, both_roles_understand_each_other) {
    const std::array<std::uint8_t, 16> random{1, 2,  3,  4,  5,  6,  7,  8,
                                              9, 10, 11, 12, 13, 14, 15, 16};
    const std::string key = make_key(random);
    buffer request;
    const std::array<http::header, 1> extra{{{"Origin", "http://x"}}};
    ASSERT_EQ(write_upgrade_request(request, "/chat?x", "example.org", key, extra), errc::none);
    limits l;
    http::request_parser server(l);
    http::request_head asked;
    ASSERT_EQ(server.parse(request.view(), asked).what, http::event::head);
    EXPECT_EQ(asked.headers.find("origin"), "http://x");
    const auto c = check_upgrade_request(asked);
    ASSERT_EQ(c.error, errc::none);
    buffer response;
    ASSERT_EQ(write_upgrade_response(response, c.key, "chat"), errc::none);
    http::response_parser client(l);
    http::response_head answered;
    ASSERT_EQ(client.parse(response.view(), answered).what, http::event::head);
    EXPECT_TRUE(check_upgrade_response(answered, key, "chat"));
    EXPECT_EQ(write_upgrade_response(response, c.key, "a\r\nb"), errc::bad_header_value);
}
TEST(ws_handshake, the_own_origin_has_the_scheme_that_is_known) {
    const auto allowed = [](std::string_view origin, std::string_view scheme) {
        http::header_list fields;
        fields.push_back({"Origin", origin});
        return is_allowed_origin(fields, {.authority = "a.example", .scheme = scheme}, {});
    };
    EXPECT_TRUE(allowed("https://a.example", "https"));
    EXPECT_FALSE(allowed("http://a.example", "https"));
    EXPECT_TRUE(allowed("http://a.example", "http"));
    EXPECT_FALSE(allowed("https://a.example", "http"));
    EXPECT_TRUE(allowed("http://a.example", ""));
    EXPECT_TRUE(allowed("https://a.example", ""));
    EXPECT_FALSE(allowed("https://b.example", ""));
}

}  // namespace wire::ws::ws_handshake_test
