// What servers are made of that WebSocket clients talk to in tests.
#pragma once

#include <string>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/proto/ws_handshake.hpp"

namespace wire::testing {

// At /echo, and closes with 4000 where it is told to.
inline http::router ws_echo() {
    http::router r;
    r.websocket("/echo", [](ws::session& s, const http::request&) {
        s.on_message([](ws::session& s, ws::message m) {
            if (m.data == "close") return s.close(4000, "as you wish");
            s.send(m);
        });
    });
    return r;
}
inline std::string ws_url(const served& s, const std::string& path = "/echo") {
    return "ws://127.0.0.1:" + std::to_string(s.port()) + path;
}

inline std::string key_of(const std::string& request) {
    const auto at = request.find("Sec-WebSocket-Key: ") + 19;
    return request.substr(at, request.find('\r', at) - at);
}

// Answers the handshake that comes next as a server that agrees.
inline void accept_handshake(raw_visitor& v) {
    const std::string request = v.request();
    v.send(
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: "
        "Upgrade\r\nSec-WebSocket-Accept: " +
        ws::accept_key(key_of(request)) + "\r\n\r\n");
}

}  // namespace wire::testing
