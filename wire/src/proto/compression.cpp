// DEFLATE streams by zlib. What is specific to zlib stays in this file; src/zlib_none stands in for
// it where zlib is absent.
#include "wire/proto/compression.hpp"

#include <algorithm>
#include <limits>

#include <zlib.h>

#include "body_packer.hpp"

namespace wire {

namespace {

// How zlib is told the wrapping.
int zlib_bits(coding c, int window_bits) noexcept {
    switch (c) {
    case coding::raw_deflate: return -window_bits;
    case coding::zlib: return window_bits;
    case coding::gzip: return window_bits + 16;
    }
    return 0;
}

bool within(int value, int least, int most) noexcept { return value >= least && value <= most; }

Bytef* input(std::string_view in) noexcept {
    return reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));  // zlib only reads it
}

// zlib counts in 32 bits.
uInt length(std::size_t n) noexcept {
    return static_cast<uInt>(std::min<std::size_t>(n, std::numeric_limits<uInt>::max()));
}

}  // namespace

bool compression_available() noexcept { return true; }

// ---- compressing ----

struct compressor::state {
    z_stream z{};
    bool finished = false;
};

void compressor::destroy::operator()(state* s) const noexcept {
    ::deflateEnd(&s->z);
    delete s;
}

result<compressor> compressor::create(coding c, const compression_options& o) {
    if (!within(o.level, 0, 9))
        return error(errc::bad_argument, "compression level: expected 0 to 9");
    if (!within(o.window_bits, 9, 15))
        return error(errc::bad_argument, "compression window_bits: expected 9 to 15");
    if (!within(o.memory_level, 1, 9))
        return error(errc::bad_argument, "compression memory_level: expected 1 to 9");
    auto fresh = std::make_unique<state>();
    const int bits = zlib_bits(c, o.window_bits);
    if (::deflateInit2(&fresh->z, o.level, Z_DEFLATED, bits, o.memory_level, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        return error(errc::system_error, "no memory for a compressor");
    }
    return compressor(std::unique_ptr<state, destroy>(fresh.release()));
}

errc compressor::add(std::string_view in, flush how, buffer& out) {
    if (state_->finished) return errc::bad_argument;
    z_stream& z = state_->z;
    const int asked = how == flush::none   ? Z_NO_FLUSH
                      : how == flush::sync ? Z_SYNC_FLUSH
                                           : Z_FINISH;
    do {
        const uInt offered = length(in.size());
        z.next_in = input(in);
        z.avail_in = offered;
        const auto space = out.prepare(
            std::clamp(in.size() / 2, http::least_packed_space, http::most_packed_space));
        const uInt room = length(space.size());
        z.next_out = reinterpret_cast<Bytef*>(space.data());
        z.avail_out = room;
        // It cannot fail: the stream is sound and there is room. Z_BUF_ERROR says that there was
        // nothing left to do.
        ::deflate(&z, offered == in.size() ? asked : Z_NO_FLUSH);
        out.commit(room - z.avail_out);
        in.remove_prefix(offered - z.avail_in);
    } while (z.avail_out == 0 || !in.empty());
    state_->finished = how == flush::finish;
    return errc::none;
}

void compressor::reset() noexcept {
    ::deflateReset(&state_->z);
    state_->finished = false;
}

// ---- decompressing ----

struct decompressor::state {
    z_stream z{};
    std::uint64_t used = 0;  // since the ratio began to count
    std::uint64_t produced = 0;
    std::uint32_t max_ratio = 0;
    errc failed = errc::none;
    bool ended = false;

    bool expands_too_much() const noexcept {
        return max_ratio != 0 && produced > ratio_floor_bytes && produced / max_ratio > used;
    }
};

void decompressor::destroy::operator()(state* s) const noexcept {
    ::inflateEnd(&s->z);
    delete s;
}

result<decompressor> decompressor::create(coding c, int window_bits, std::uint32_t max_ratio) {
    if (!within(window_bits, 8, 15))
        return error(errc::bad_argument, "decompression window_bits: expected 8 to 15");
    auto fresh = std::make_unique<state>();
    fresh->max_ratio = max_ratio;
    if (::inflateInit2(&fresh->z, zlib_bits(c, window_bits)) != Z_OK) {
        return error(errc::system_error, "no memory for a decompressor");
    }
    return decompressor(std::unique_ptr<state, destroy>(fresh.release()));
}

decompressor::step decompressor::add(std::string_view in, std::size_t max_out, buffer& out) {
    state& s = *state_;
    step done;
    done.ended = s.ended;
    done.error = s.failed;
    // In portions, so that a bomb is seen before it has filled `out`.
    while (!done.ended && done.error == errc::none) {
        const std::string_view rest = in.substr(done.used);
        const std::size_t room = std::min(max_out, http::most_packed_space);
        char none = 0;  // zlib wants somewhere to write to even if it is nothing
        s.z.next_in = input(rest);
        s.z.avail_in = length(rest.size());
        s.z.next_out = reinterpret_cast<Bytef*>(room > 0 ? out.prepare(room).data() : &none);
        s.z.avail_out = static_cast<uInt>(room);
        const int said = ::inflate(&s.z, Z_SYNC_FLUSH);
        const std::size_t used = length(rest.size()) - s.z.avail_in;
        const std::size_t produced = room - s.z.avail_out;
        out.commit(produced);
        max_out -= produced;
        done.used += used;
        s.used += used;
        s.produced += produced;
        if (said == Z_STREAM_END) {
            s.ended = done.ended = true;
        } else if (said != Z_OK && said != Z_BUF_ERROR) {
            s.failed = said == Z_MEM_ERROR ? errc::system_error : errc::bad_compressed_data;
        }
        if (s.expands_too_much()) s.failed = errc::expands_too_much;
        done.error = s.failed;
        // All input is used up, all output is out.
        if (s.z.avail_out > 0 && done.used == in.size()) break;
        if (max_out == 0) {
            done.more = !done.ended;
            break;
        }
    }
    // In zlib's words: between two blocks (128), none of them the last (64), with no bits left of a
    // byte (1 to 7).
    done.whole = s.z.data_type == 128 && !done.more;
    return done;
}

void decompressor::next_stream() noexcept {
    ::inflateReset(&state_->z);
    state_->failed = errc::none;
    state_->ended = false;
}

void decompressor::reset() noexcept {
    next_stream();
    restart_ratio(state_->max_ratio);
}

void decompressor::restart_ratio(std::uint32_t max_ratio) noexcept {
    state_->used = state_->produced = 0;
    state_->max_ratio = max_ratio;
}

}  // namespace wire
