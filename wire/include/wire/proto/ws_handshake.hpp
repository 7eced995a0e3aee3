// The opening handshake, both roles (RFC 6455 section 4).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/proto/ws_deflate.hpp"

namespace wire::ws {

// Sec-WebSocket-Accept for a Sec-WebSocket-Key.
std::string accept_key(std::string_view key);

// Sec-WebSocket-Key from 16 random bytes, which the caller supplies (this layer has no randomness).
std::string make_key(std::span<const std::uint8_t, 16> random);

// ---- client ----

// Appends the request. `extra` fields are added as they are given (Origin, cookies, subprotocols,
// deflate_offer() as Sec-WebSocket-Extensions).
[[nodiscard]] errc write_upgrade_request(buffer& out, std::string_view target,
                                         std::string_view host, std::string_view key,
                                         std::span<const http::header> extra = {});
// Whether the response accepts: 101, Upgrade, Connection, the right Accept, and no extension nor
// subprotocol outside what was offered: `offered_protocols` (comma-separated), and
// permessage-deflate when `offered_deflate` is not null; `agreed` then holds what the server has
// agreed to, if anything.
result<void> check_upgrade_response(const http::response_head& head, std::string_view key,
                                    std::string_view offered_protocols = {},
                                    const deflate_options* offered_deflate = nullptr,
                                    std::optional<deflate_agreement>* agreed = nullptr);

// ---- server ----

// The request is a WebSocket opening handshake in form (section 4.2.1): true, false when it asks
// for something else, or an error when it asks for a WebSocket wrongly (Sec-WebSocket-Extensions
// that break the grammar included). The status with which to refuse that is 426 for a version other
// than 13 (with Sec-WebSocket-Version: 13), else 400: `refusal`.
struct upgrade_check {
    bool wanted = false;
    errc error = errc::none;
    int refusal = 0;
    std::string_view key;
};
upgrade_check check_upgrade_request(const http::request_head& head);

// Appends the 101. `protocol`: the one chosen of those offered, or none.
[[nodiscard]] errc write_upgrade_response(buffer& out, std::string_view key,
                                          std::string_view protocol = {},
                                          std::span<const http::header> extra = {});

}  // namespace wire::ws
