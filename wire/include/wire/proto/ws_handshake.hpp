// The opening handshake of WebSocket, both roles (RFC 6455 section 4). The messages themselves are
// parsed by wire/proto/http_parser.hpp.
//
// A client:
//
//     const std::string key = wire::ws::make_key(random);
//     wire::ws::write_upgrade_request(out, "/chat", "example.org", key);
//     // ... send, parse the answer's head ...
//     if (auto agreed = wire::ws::check_upgrade_response(head, key); !agreed) fail(agreed.error());
//
// A server:
//
//     const auto asked = wire::ws::check_upgrade_request(head);
//     if (asked.wanted && asked.error == wire::errc::none)
//         wire::ws::write_upgrade_response(out, asked.key);
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/proto/ws_deflate.hpp"

namespace wire::ws {

// The Sec-WebSocket-Accept that answers a Sec-WebSocket-Key.
WIRE_EXPORT std::string accept_key(std::string_view key);

// A Sec-WebSocket-Key from 16 random bytes, which the caller supplies: this layer has no randomness
// of its own.
WIRE_EXPORT std::string make_key(std::span<const std::uint8_t, 16> random);

// ---- client ----

// Appends the request. `host` is the value of Host, `extra` further fields as they are given
// (Origin, cookies, subprotocols, deflate_offer() as Sec-WebSocket-Extensions). Errors are those of
// http::head_writer, and nothing is appended then.
[[nodiscard]] WIRE_EXPORT errc write_upgrade_request(buffer& out, std::string_view target,
                                                     std::string_view host, std::string_view key,
                                                     std::span<const http::header> extra = {});
// Whether the response accepts: 101, Upgrade, Connection, the right Sec-WebSocket-Accept, and no
// extension nor subprotocol beyond those offered. `offered_protocols` is comma-separated;
// `offered_deflate` is null where permessage-deflate was not offered. `*agreed` is set to what the
// server has agreed to, if anything. errc::bad_handshake, with the reason, otherwise.
WIRE_EXPORT result<void> check_upgrade_response(const http::response_head& head,
                                                std::string_view key,
                                                std::string_view offered_protocols = {},
                                                const deflate_options* offered_deflate = nullptr,
                                                std::optional<deflate_agreement>* agreed = nullptr);

// ---- server ----

// What check_upgrade_request() has found.
struct upgrade_check {
    // The request asks for a WebSocket, rightly or not. False: it is an ordinary request.
    bool wanted = false;
    // errc::bad_handshake when it asks wrongly.
    errc error = errc::none;
    // Then the status to refuse it with: 426 for a version other than 13 (answer with
    // Sec-WebSocket-Version: 13), otherwise 400.
    int refusal = 0;
    // The Sec-WebSocket-Key, which points into the head's bytes.
    std::string_view key;
};
// Whether a request is a WebSocket opening handshake in the form of section 4.2.1. One whose
// Sec-WebSocket-Extensions break the grammar asks wrongly too.
WIRE_EXPORT upgrade_check check_upgrade_request(const http::request_head& head);

// The origin that a browser asked for, as far as the server knows it.
struct own_origin {
    std::string_view authority;
    // "https" or "http". Empty: either, as a proxy may have taken TLS off.
    std::string_view scheme = {};
};

// Whether the handshake comes from no page of a browser (it has no Origin), from a page of `own`,
// or of one of `allowed`, where "*" stands for all: RFC 6455 section 10.2, and
// ws::accept_options::allowed_origins. More than one Origin is none that is allowed.
WIRE_EXPORT bool is_allowed_origin(const http::header_list& fields, const own_origin& own,
                                   std::span<const std::string> allowed);

// The first of `spoken` that the request offers in its Sec-WebSocket-Protocol fields; empty where
// it offers none of them. Names are compared exactly (section 11.5). The view is of `spoken`.
WIRE_EXPORT std::string_view choose_protocol(const http::header_list& fields,
                                             std::span<const std::string> spoken) noexcept;

// Appends the 101. `protocol`: the one chosen of those offered, or none. `extra`: further fields as
// they are given; `lines`: whole field lines that end in CRLF, which are not checked. Errors are
// those of http::head_writer.
[[nodiscard]] WIRE_EXPORT errc write_upgrade_response(buffer& out, std::string_view key,
                                                      std::string_view protocol = {},
                                                      std::span<const http::header> extra = {},
                                                      std::string_view lines = {});

}  // namespace wire::ws
