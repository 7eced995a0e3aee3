// Compressed WebSocket messages: permessage-deflate (RFC 7692), both roles. No socket, no clock.
//
// A client offers deflate_offer() in Sec-WebSocket-Extensions and reads the answer with
// check_upgrade_response(); a server answers with accept_deflate(). What was agreed makes a
// permessage_deflate for the session, which writes its messages and is given to its message_reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/buffer.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/compression.hpp"
#include "wire/proto/http_types.hpp"
#include "wire/proto/ws_frame.hpp"

namespace wire::ws {

// What one side would like. Numbers out of range are taken as the nearest in it.
//
// With context takeover a message may refer to those before it: short messages that resemble each
// other shrink to a fraction, and each session holds, once it has sent, 2^(window_bits + 2) +
// 2^(memory_level + 9) bytes and, once it has received, 2^peer_window_bits (262 KiB and 39 KiB as
// the numbers stand here). Without it sessions of one loop share what they need.
struct deflate_options {
    // Of what this side sends.
    bool context_takeover = false;
    int level = 1;                // 1 to 9; gorilla's default too, as messages should not wait
    int window_bits = 15;         // 9 to 15
    int memory_level = 8;         // 1 to 9
    std::size_t min_bytes = 256;  // messages below are sent as they are

    // Of what the peer sends. A peer that cannot keep to it is not agreed with.
    bool peer_context_takeover = false;
    int peer_window_bits = 15;  // 8 to 15
};

struct deflate_agreement {
    struct direction {
        std::uint8_t window_bits = 15;
        bool context_takeover = true;
        bool operator==(const direction&) const = default;
    };
    direction server{};  // of what the server sends
    direction client{};
    bool operator==(const deflate_agreement&) const = default;
};

// The field value with which a client offers it; empty without zlib, when nothing is to be offered.
std::string deflate_offer(const deflate_options& o);

// What the server's Sec-WebSocket-Extensions agree to: none, or errc::bad_handshake when that is
// not what deflate_offer(o) offered (section 7.1: the client must then fail the connection).
result<std::optional<deflate_agreement>> read_deflate_answer(const http::header_list& fields,
                                                             const deflate_options& o);

// The first of a client's offers that a server can agree to, with the answer's field value. Offers
// with parameters that are unknown, repeated or have a wrong value are declined, as are windows of
// 8 bits, which zlib cannot make.
struct accepted_deflate {
    deflate_agreement agreed;
    std::string answer;
};
std::optional<accepted_deflate> accept_deflate(const http::header_list& fields,
                                               const deflate_options& o);

// Whether all Sec-WebSocket-Extensions fields follow the grammar of RFC 6455 section 9.1; one that
// does not must fail the handshake.
bool extensions_are_well_formed(const http::header_list& fields);

// What sessions without context takeover share. One for each loop or thread; must outlive its
// sessions.
class deflate_pool {
public:
    // Null when memory is short or there is no zlib.
    std::unique_ptr<compressor> take_compressor(const compression_options& o);
    void give_back(std::unique_ptr<compressor> c, const compression_options& o);
    std::unique_ptr<decompressor> take_decompressor();
    void give_back(std::unique_ptr<decompressor> d);
    buffer_pool& buffers() noexcept { return buffers_; }

private:
    static constexpr std::size_t max_kept = 8;
    std::vector<std::pair<compression_options, std::unique_ptr<compressor>>> compressors_;
    std::vector<std::unique_ptr<decompressor>> decompressors_;
    buffer_pool buffers_{16 * 1024, max_kept};
};

// The extension's state in one session.
class permessage_deflate {
public:
    // `pool` and `l` must outlive it.
    permessage_deflate(role r, const deflate_agreement& agreed, const deflate_options& o,
                       deflate_pool& pool, const limits& l);
    ~permessage_deflate();
    permessage_deflate(const permessage_deflate&) = delete;
    permessage_deflate& operator=(const permessage_deflate&) = delete;

    // Appends a text or binary message in one frame: compressed, or as it is where that is shorter
    // or below `min_bytes`.
    void append_message(buffer& out, opcode op, std::string_view payload,
                        std::optional<mask_key> key = {});

    // ---- for message_reader ----

    // A compressed message begins; `to`, which is empty, is lent storage.
    void begin(buffer& to);
    // Inflates a piece of its payload, appending at most `max_out` bytes. `step.more`: call again
    // with what is left.
    decompressor::step inflate(std::string_view piece, std::size_t max_out, buffer& to);
    // It has ended: whether it was whole.
    errc finish();
    // Takes back what begin() lent.
    void reclaim(buffer& b) noexcept { pool_->buffers().reclaim(b); }
    // Payload bytes of the message so far, compressed.
    std::uint64_t received() const noexcept { return received_; }

private:
    deflate_pool* pool_;
    const limits* limits_;
    compression_options settings_;
    std::size_t min_bytes_;
    deflate_agreement::direction sends_;
    deflate_agreement::direction receives_;
    std::unique_ptr<compressor> compressor_;      // own; none without context takeover
    std::unique_ptr<decompressor> decompressor_;  // own, or lent while a message comes in
    std::uint64_t received_ = 0;
    bool stream_ended_ = false;  // by a final block, with nothing after it
};

}  // namespace wire::ws
