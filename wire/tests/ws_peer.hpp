// A raw peer that has become a WebSocket client.
#pragma once

#include <string>
#include <string_view>

#include "raw_peer.hpp"
#include "wire/proto/ws_frame.hpp"

namespace wire::testing {

// A client's frame.
inline std::string frame(ws::opcode op, std::string_view payload, bool fin = true) {
    buffer out;
    ws::append_frame(out, op, payload, ws::mask_key{1, 2, 3, 4}, fin);
    return std::string(out.view());
}

class ws_peer : public raw_peer {
public:
    explicit ws_peer(std::uint16_t port, const std::string& path = "/") : raw_peer(port) {
        send("GET " + path +
             " HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: "
             "Upgrade\r\nSec-WebSocket-Version: 13\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
        EXPECT_EQ(response(), "101 ");
        EXPECT_NE(head_text.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"),
                  std::string::npos);
    }
    // "OPCODE payload" of the next frame; "<end>" when there is none.
    std::string next() {
        std::string raw = exactly(2);
        if (raw.size() < 2) return "<end>";
        const auto length = static_cast<unsigned char>(raw[1]);
        if (length >= 126) raw += exactly(length == 126 ? 2 : 8);
        const auto h = ws::read_frame_header(raw, ws::role::client);
        if (h.size != raw.size()) return "<bad frame>";
        return std::to_string(static_cast<int>(h.header.op)) + " " +
               exactly(static_cast<std::size_t>(h.header.length));
    }
};

}  // namespace wire::testing
