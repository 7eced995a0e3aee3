// Compressed WebSocket messages: permessage-deflate (RFC 7692), both roles. No socket, no clock.
//
// A client offers deflate_offer() in Sec-WebSocket-Extensions and reads the answer with
// check_upgrade_response(); a server answers with accept_deflate(). From what was agreed the
// session makes a permessage_deflate, which writes its messages and is given to its message_reader.
//
// Users of sessions only fill in deflate_options:
//
//     wire::ws::dial_options options;
//     options.deflate = wire::ws::deflate_options{.context_takeover = true};
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
#include "wire/base/export.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/compression.hpp"
#include "wire/proto/http_types.hpp"
#include "wire/proto/ws_frame.hpp"

namespace wire::ws {

// What one side would like. Numbers out of range are taken as the nearest in it.
//
// With context takeover a message may refer to those before it: short messages that resemble each
// other shrink to a fraction. Each session then holds 2^(window_bits + 2) + 2^(memory_level + 9)
// bytes once it has sent, and 2^peer_window_bits bytes once it has received (262 KiB and 39 KiB
// with the numbers below). Without it the sessions of one loop share what they need.
struct deflate_options {
    // Messages that this side sends refer to those before them.
    bool context_takeover = false;
    // 1 (fastest) to 9 (smallest). 1 is gorilla/websocket's default too: messages should not wait.
    int level = 1;
    // How far back this side looks for repetitions, as a power of two: 9 to 15.
    int window_bits = 15;
    // Size of the compressor's tables: 1 to 9.
    int memory_level = 8;
    // Messages with fewer bytes are sent as they are.
    std::size_t min_bytes = 256;

    // The peer's messages may refer to those before them. A peer that cannot do without is not
    // agreed with.
    bool peer_context_takeover = false;
    // The largest window that the peer may use: 8 to 15.
    int peer_window_bits = 15;
};

// What both sides have agreed to.
struct deflate_agreement {
    // How messages in one direction are compressed.
    struct direction {
        std::uint8_t window_bits = 15;
        bool context_takeover = true;
        bool operator==(const direction&) const = default;
    };
    direction server{};  // of what the server sends
    direction client{};  // of what the client sends
    bool operator==(const deflate_agreement&) const = default;
};

// The value of Sec-WebSocket-Extensions with which a client offers compression. Empty without zlib:
// send no field then.
WIRE_EXPORT std::string deflate_offer(const deflate_options& o);

// What the server's Sec-WebSocket-Extensions agree to; none when there is no such field.
// errc::bad_handshake when that is not what deflate_offer(o) offered: the client must then fail the
// connection (section 7.1).
WIRE_EXPORT result<std::optional<deflate_agreement>> read_deflate_answer(
    const http::header_list& fields, const deflate_options& o);

// What a server has agreed to, and the value of Sec-WebSocket-Extensions that says so.
struct accepted_deflate {
    deflate_agreement agreed;
    std::string answer;
};
// The first of a client's offers that a server can agree to; none when there is no such offer.
// Declined are offers with parameters that are unknown, repeated or have a wrong value, and windows
// of 8 bits, which zlib cannot make.
WIRE_EXPORT std::optional<accepted_deflate> accept_deflate(const http::header_list& fields,
                                                           const deflate_options& o);

// Whether all Sec-WebSocket-Extensions fields follow the grammar of RFC 6455 section 9.1. One that
// does not must fail the handshake.
WIRE_EXPORT bool extensions_are_well_formed(const http::header_list& fields);

// The compressors, decompressors and buffers that sessions without context takeover share, each
// lent for the length of a message. One for each loop or thread; must outlive its sessions.
class WIRE_EXPORT deflate_pool {
public:
    // A compressor with these options. Null when memory is short or there is no zlib.
    std::unique_ptr<compressor> take_compressor(const compression_options& o);
    // Takes it back, reset; `o` are the options with which it was taken.
    void give_back(std::unique_ptr<compressor> c, const compression_options& o);
    // A decompressor with the largest window. Null when memory is short or there is no zlib.
    std::unique_ptr<decompressor> take_decompressor();
    void give_back(std::unique_ptr<decompressor> d);
    // Storage for messages being compressed or inflated.
    buffer_pool& buffers() noexcept { return buffers_; }

private:
    static constexpr std::size_t max_kept = 8;
    std::vector<std::pair<compression_options, std::unique_ptr<compressor>>> compressors_;
    std::vector<std::unique_ptr<decompressor>> decompressors_;
    buffer_pool buffers_{16 * 1024, max_kept};
};

// The extension's state in one session. Belongs to the session's thread.
class WIRE_EXPORT permessage_deflate {
public:
    // `pool` and `l` must outlive it.
    permessage_deflate(role r, const deflate_agreement& agreed, const deflate_options& o,
                       deflate_pool& pool, const limits& l);
    ~permessage_deflate();
    permessage_deflate(const permessage_deflate&) = delete;
    permessage_deflate& operator=(const permessage_deflate&) = delete;

    // Appends a text or binary message in one frame: compressed, or as it is where that is shorter,
    // where it is below `min_bytes`, and where memory is short. `key` as for append_frame().
    void append_message(buffer& out, opcode op, std::string_view payload,
                        std::optional<mask_key> key = {});

    // ---- for message_reader: begin(), inflate() for each piece, finish(), reclaim() ----

    // A compressed message begins; `to`, which is empty, is lent storage.
    void begin(buffer& to);
    // Inflates a piece of its payload, appending at most `max_out` bytes. With `more` in the
    // answer: call again with what is left of the piece. Errors: bad_compressed_data,
    // expands_too_much beyond limits::max_decompression_ratio, system_error when memory is short.
    decompressor::step inflate(std::string_view piece, std::size_t max_out, buffer& to);
    // The message has ended. errc::bad_compressed_data when it was cut off.
    errc finish();
    // No more is inflated: gives up the decompressor, which may be as large as the message was.
    void abandon() noexcept;
    // Takes back the storage that begin() has lent.
    void reclaim(buffer& b) noexcept { pool_->buffers().reclaim(b); }
    // Compressed bytes of the message's payload so far.
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
