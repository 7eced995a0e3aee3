#include "wire/proto/ws_reader.hpp"

#include <algorithm>

namespace wire::ws {

step message_reader::fail(errc code) noexcept {
    error_ = code;
    gathered_ = {};
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
    s.code = close_code::none_given;
    if (payload.empty()) return s;
    if (payload.size() == 1) return fail(errc::bad_close_code);
    s.code = static_cast<std::uint16_t>(static_cast<unsigned char>(payload[0]) << 8 |
                                        static_cast<unsigned char>(payload[1]));
    s.data = payload.substr(2);
    if (!is_valid_close_code(s.code)) return fail(errc::bad_close_code);
    if (!is_utf8(s.data)) return fail(errc::bad_utf8);
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

step message_reader::read(std::span<char> in) {
    if (error_ != errc::none) return fail(error_);
    if (delivered_) {
        delivered_ = false;
        // Keep small storage for the next message; give back what one large message took.
        if (gathered_.capacity() > 16 * 1024) {
            gathered_ = {};
        } else {
            gathered_.clear();
        }
    }
    std::size_t at = 0;
    for (;;) {
        if (!in_frame_) {
            const header_step h = read_frame_header({in.data() + at, in.size() - at}, role_);
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
            if ((frame.op == opcode::continuation) != (message_ != opcode::continuation)) return fail(errc::bad_frame);
            if (frame.length > limits_->max_message_bytes - gathered_.size()) return fail(errc::message_too_large);
            if (frame.op != opcode::continuation) {
                message_ = frame.op;
                utf8_.reset();
                if (frame.fin && frame.length <= available) {
                    const auto payload = in.subspan(at + h.size, static_cast<std::size_t>(frame.length));
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
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, in.size() - at));
        const auto piece = in.subspan(at, n);
        if (frame_.masked) apply_mask(piece, frame_.key, offset_ % 4);
        const std::string_view text(piece.data(), piece.size());
        if (message_ == opcode::text && !utf8_.feed(text)) return fail(errc::bad_utf8);
        gathered_.append(text);
        at += n;
        offset_ += n;
        remaining_ -= n;
        if (remaining_ > 0) break;
        in_frame_ = false;
        if (frame_.fin) {
            if (message_ == opcode::text && !utf8_.complete()) return fail(errc::bad_utf8);
            delivered_ = true;
            return deliver(at, gathered_);
        }
    }
    step s;
    s.consumed = at;
    return s;
}

}  // namespace wire::ws
