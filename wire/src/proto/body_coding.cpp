// Undoes one Content-Encoding, in steps that bound what comes out.
#include "body_coding.hpp"

#include <algorithm>

#include "wire/proto/compression.hpp"

namespace wire::http {

namespace {

// In portions, so that a bomb is seen before it has filled the output.
constexpr std::size_t portion_bytes = 16 * 1024;

}  // namespace

bool body_decoder::expands_too_much() const noexcept {
    return max_ratio_ != 0 && produced_ > decompressor::ratio_floor_bytes &&
           produced_ / max_ratio_ > used_;
}

errc body_decoder::add(std::string_view& in, std::size_t most, buffer& out) {
    while (most > 0 && (!in.empty() || more_)) {
        if (unpacker_ == nullptr) {
            unpacker_ = make_(in.front(), max_window_bits_);
            if (unpacker_ == nullptr) return errc::system_error;
        }
        if (ended_ && !unpacker_->next_stream()) return errc::bad_compressed_data;
        // Room for one byte beyond the limit, to see whether the body exceeds it.
        const auto room = static_cast<std::size_t>(
            std::min<std::uint64_t>(left_, std::min(most, portion_bytes) - 1) + 1);
        const std::size_t before = out.size();
        const auto s = unpacker_->add(in, room, out);
        const std::size_t made = out.size() - before;
        in.remove_prefix(s.used);
        used_ += s.used;
        produced_ += made;
        ended_ = s.ended;
        more_ = made == room && !s.ended;
        if (s.error != errc::none) return s.error;
        if (expands_too_much()) return errc::expands_too_much;
        if (made > left_) return errc::body_too_large;
        if (made == 0 && s.used == 0 && !s.ended && !in.empty()) return errc::bad_compressed_data;
        left_ -= made;
        most -= made;
    }
    return errc::none;
}

}  // namespace wire::http
