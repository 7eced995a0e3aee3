// WebSocket messages from bytes: frames, masking, fragments, UTF-8 and limits together. No socket,
// no clock.
//
//     wire::ws::message_reader reader(wire::ws::role::server, limits);
//     for (;;) {
//         const auto step = reader.read(received.bytes());
//         if (step.what == wire::ws::event::need_more) ...  // consume, then read from the socket
//         if (step.what == wire::ws::event::message) take(step.op, step.data);
//         received.consume(step.consumed);
//     }
//
// Call read() until it answers need_more, and drop `consumed` bytes from the front each time.
//
//     event       meaning
//     need_more   nothing further without more bytes (a part of a message may have been consumed)
//     message     a whole text or binary message in `data`
//     ping, pong  its payload in `data`; answering a ping is the caller's part
//     close       `code` (none_given when the frame had no body), and the reason in `data`; the
//                 caller answers with the same code and reads no more
//     error       refuse with close_code_for(error); every later call says the same
//
// A message that lies in the bytes whole and in one frame is unmasked in place and handed out
// without a copy; others are gathered inside, compressed ones inflated as they arrive. Text is
// checked while it arrives. Views die at the next call, or when the bytes move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/export.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/utf8.hpp"
#include "wire/proto/ws_close.hpp"
#include "wire/proto/ws_frame.hpp"

namespace wire::ws {

class permessage_deflate;

// What a call of read() has found; the table above says what each means.
enum class event : std::uint8_t { need_more, message, ping, pong, close, error };

// The answer of one call of read().
struct step {
    std::size_t consumed = 0;  // bytes to drop from the front
    event what = event::need_more;
    errc error = errc::none;   // with event::error
    opcode op = opcode::text;  // of a message: text or binary
    std::uint16_t code = 0;    // of a close
    std::string_view data{};
};

// The receiving half of one connection. Belongs to one thread at a time.
class WIRE_EXPORT message_reader {
public:
    // `r` is the reader's own role. `l` and `deflate` must outlive it; `deflate` is null where
    // permessage-deflate was not agreed.
    message_reader(role r, const limits& l, permessage_deflate* deflate = nullptr) noexcept
        : limits_(&l), deflate_(deflate), role_(r) {}

    // What comes next in `in`, which begins where the last call stopped consuming, and which is
    // unmasked in place. Errors: bad_frame, bad_close_code, bad_utf8, message_too_large beyond
    // limits::max_message_bytes, and those of permessage_deflate.
    step read(std::span<char> in);

    // Whether a text or binary message has begun and its end has not come.
    bool in_message() const noexcept { return message_ != opcode::continuation; }
    // Payload bytes of that message so far, as they came: compressed, where they are.
    std::uint64_t received_bytes() const noexcept;
    // The memory that it holds: what is gathered and, while it is inflated, the decompressor.
    std::size_t held_bytes() const noexcept;
    // Gives that memory back. Only for a connection that ends: every later read() is an error.
    void abandon() noexcept { fail(errc::stopped); }

private:
    std::uint64_t most() const noexcept;
    errc inflate(std::string_view piece);
    void forget_delivered() noexcept;
    step fail(errc code) noexcept;
    step control(std::size_t consumed, opcode op, std::string_view payload) noexcept;
    step deliver(std::size_t consumed, std::string_view data) noexcept;

    const limits* limits_;
    permessage_deflate* deflate_;
    buffer gathered_;              // the message so far, where it has to be gathered
    std::uint64_t remaining_ = 0;  // payload bytes of the current frame still to come
    std::uint64_t offset_ = 0;     // payload bytes of the current frame seen, for the mask
    frame_header frame_{};
    utf8_validator utf8_;
    role role_;
    errc error_ = errc::none;
    opcode message_ = opcode::continuation;  // of the message in progress; continuation: none
    bool compressed_ = false;                // so is the message in progress
    bool in_frame_ = false;   // a data frame's header was consumed, its payload not all
    bool delivered_ = false;  // gathered_ was handed out and goes at the next call
};

}  // namespace wire::ws
