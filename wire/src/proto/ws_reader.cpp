// Messages from frames. Two things are remembered from one call to the next: the message in
// progress (message_, compressed_) and the frame in progress (in_frame_, remaining_, offset_).
//
//     message_      in_frame_   input                        what follows
//     none          no          a data frame's header        handed out in place, if all of it is
//                                                            there and it is not compressed; else
//                                                            in_frame_
//     in progress   no          a continuation's header      in_frame_
//     either        no          a whole control frame        ping, pong or close is answered; the
//                                                            message goes on afterwards
//     in progress   yes         payload                      unmasked, checked, inflated or copied
//                                                            to gathered_
//                               its end without FIN          no frame; the message goes on
//                               its end with FIN             the message is handed out; none is in
//                                                            progress
//     any           any         forbidden by RFC 6455, or    error_ is set, and answered from then
//                               beyond the limits            on
//
// A message that was gathered is handed out as a view of gathered_, which is kept until the next
// call (delivered_). Between messages, once a call needs more bytes, nothing is held.
#include "wire/proto/ws_reader.hpp"

#include <algorithm>
#include <cstring>

#include "wire/proto/ws_close.hpp"
#include "wire/proto/ws_deflate.hpp"

namespace wire::ws {

namespace {

// The size of the frame at the front where it is a whole message of at most 125 bytes, as most
// are, and all of it is there; else 0.
std::size_t short_message(std::span<const char> in, role r) noexcept {
    if (in.size() < 2) return 0;
    const auto first = static_cast<std::uint8_t>(in[0]);
    constexpr unsigned fin = 0x80;
    if (first != (fin | 1U) && first != (fin | 2U)) return 0;  // text, binary
    // Without the mask's bit where there has to be one it is more than 125, and the other way.
    const unsigned length = static_cast<std::uint8_t>(in[1]) ^ (r == role::server ? 0x80U : 0U);
    if (length > 125) return 0;
    const std::size_t size = (r == role::server ? 6 : 2) + length;
    return size <= in.size() ? size : 0;
}

}  // namespace

std::uint64_t message_reader::received_bytes() const noexcept {
    return compressed_ ? deflate_->received() : gathered_.size();
}

std::size_t message_reader::held_bytes() const noexcept {
    // decompressor's 7 KiB and its window of at most 32.
    constexpr std::size_t inflating = 40 * 1024;
    return gathered_.capacity() + (compressed_ ? inflating : 0);
}

step message_reader::fail(errc code) noexcept {
    error_ = code;
    message_ = opcode::continuation;
    gathered_.release();
    if (deflate_ != nullptr) deflate_->abandon();
    compressed_ = false;
    step s;
    s.what = event::error;
    s.error = code;
    return s;
}

// A whole control frame, already unmasked.
step message_reader::control(std::size_t consumed, opcode op, std::string_view payload) noexcept {
    step s;
    s.consumed = consumed;
    s.data = payload;
    if (op != opcode::close) {
        s.what = op == opcode::ping ? event::ping : event::pong;
        return s;
    }
    s.what = event::close;
    close_payload got;
    if (const errc error = parse_close(payload, got); error != errc::none) return fail(error);
    s.code = got.code;
    s.data = got.reason;
    return s;
}

step message_reader::deliver(std::size_t consumed, std::string_view data) noexcept {
    step s;
    s.consumed = consumed;
    s.what = event::message;
    s.op = message_;
    s.data = data;
    message_ = opcode::continuation;
    return s;
}

// Far beyond any memory, and nothing that is added to it overflows.
std::uint64_t message_reader::most() const noexcept {
    return std::min(limits_->max_message_bytes, std::uint64_t{1} << 62U);
}

// Output is counted and checked before an error further on is reported: the answer must not depend
// on how the bytes were cut.
errc message_reader::inflate(std::string_view piece) {
    for (;;) {
        const std::size_t before = gathered_.size();
        const auto s =
            deflate_->inflate(piece, static_cast<std::size_t>(most()) - before + 1, gathered_);
        if (message_ == opcode::text && !utf8_.feed(gathered_.view().substr(before)))
            return errc::bad_utf8;
        if (gathered_.size() > most()) return errc::message_too_large;
        if (s.error != errc::none) return s.error;
        if (!s.more) return errc::none;
        piece.remove_prefix(s.used);
    }
}

// Keeps small storage for a message that begins in the same bytes; gives back what one large
// message took, or what was lent.
void message_reader::forget_delivered() noexcept {
    delivered_ = false;
    if (compressed_) {
        deflate_->reclaim(gathered_);
    } else if (gathered_.capacity() > 16 * 1024) {
        gathered_.release();
    } else {
        gathered_.clear();
    }
}

step message_reader::read(std::span<char> in) {
    if (error_ != errc::none) return fail(error_);
    if (delivered_) forget_delivered();
    if (const std::size_t size = in_frame_ || in_message() ? 0 : short_message(in, role_)) {
        const std::size_t head = role_ == role::server ? 6 : 2;
        const auto payload = in.subspan(head, size - head);
        if (payload.size() <= most()) {
            compressed_ = false;
            message_ = static_cast<opcode>(in[0] & 15);
            if (role_ == role::server) {
                mask_key key;
                std::memcpy(key.data(), &in[2], key.size());
                apply_mask(payload, key);
            }
            const std::string_view text(payload.data(), payload.size());
            if (message_ == opcode::text && !is_utf8(text)) return fail(errc::bad_utf8);
            return deliver(size, text);
        }
    }
    std::size_t at = 0;
    for (;;) {
        if (!in_frame_) {
            const header_step h =
                read_frame_header({in.data() + at, in.size() - at}, role_, deflate_ != nullptr);
            if (h.error != errc::none) return fail(h.error);
            const frame_header& frame = h.header;
            if (h.size == 0) break;
            const std::size_t available = in.size() - at - h.size;
            if (is_control(frame.op)) {
                const auto length = static_cast<std::size_t>(frame.length);
                if (available < length) break;
                const auto payload = in.subspan(at + h.size, length);
                if (frame.masked) apply_mask(payload, frame.key);
                return control(at + h.size + length, frame.op, {payload.data(), length});
            }
            // A message begins with text or binary and goes on with continuation: section 5.4.
            if ((frame.op == opcode::continuation) != (message_ != opcode::continuation))
                return fail(errc::bad_frame);
            const bool begins = frame.op != opcode::continuation;
            if (begins) compressed_ = frame.reserved != 0;
            // Incompressible data grow a little when they are compressed.
            const std::uint64_t allowed = compressed_ ? most() + most() / 8 + 1024 : most();
            const std::uint64_t so_far = !compressed_ ? gathered_.size()
                                         : begins     ? 0
                                                      : deflate_->received();
            if (frame.length > allowed - std::min(allowed, so_far))
                return fail(errc::message_too_large);
            if (begins) {
                message_ = frame.op;
                utf8_.reset();
                if (compressed_) {
                    deflate_->begin(gathered_);
                } else if (frame.fin && frame.length <= available) {
                    const auto payload =
                        in.subspan(at + h.size, static_cast<std::size_t>(frame.length));
                    if (frame.masked) apply_mask(payload, frame.key);
                    const std::string_view text(payload.data(), payload.size());
                    if (message_ == opcode::text && !is_utf8(text)) return fail(errc::bad_utf8);
                    return deliver(at + h.size + payload.size(), text);
                }
            }
            at += h.size;
            frame_ = frame;
            remaining_ = frame.length;
            offset_ = 0;
            in_frame_ = true;
        }
        const auto n =
            static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, in.size() - at));
        const auto piece = in.subspan(at, n);
        if (frame_.masked) apply_mask(piece, frame_.key, offset_ % 4);
        const std::string_view text(piece.data(), piece.size());
        if (compressed_) {
            if (const errc e = inflate(text); e != errc::none) return fail(e);
        } else {
            if (message_ == opcode::text && !utf8_.feed(text)) return fail(errc::bad_utf8);
            gathered_.append(text);
        }
        at += n;
        offset_ += n;
        remaining_ -= n;
        if (remaining_ > 0) break;
        in_frame_ = false;
        if (frame_.fin) {
            if (compressed_) {
                if (const errc e = deflate_->finish(); e != errc::none) return fail(e);
            }
            if (message_ == opcode::text && !utf8_.complete()) return fail(errc::bad_utf8);
            delivered_ = true;
            return deliver(at, gathered_.view());
        }
    }
    // Whoever waits for the next message holds nothing of the last, however long that takes.
    if (!in_message() && gathered_.capacity() > 0) gathered_.release();
    step s;
    s.consumed = at;
    return s;
}

}  // namespace wire::ws
