// Stands in for src/proto/compression.cpp where wire is built without zlib: every attempt to
// compress fails with errc::no_compression.
#include "wire/proto/compression.hpp"

namespace wire {

namespace {

error unavailable() {
    return {errc::no_compression,
            "this wire was built without zlib; install it (Debian: zlib1g-dev) and build it with "
            "-D WIRE_WITH_ZLIB=ON"};
}

}  // namespace

bool compression_available() noexcept { return false; }

struct compressor::state {};
void compressor::destroy::operator()(state* s) const noexcept { delete s; }
result<compressor> compressor::create(coding, const compression_options&) { return unavailable(); }
errc compressor::add(std::string_view, flush, buffer&) { return errc::no_compression; }
void compressor::reset() noexcept {}

struct decompressor::state {};
void decompressor::destroy::operator()(state* s) const noexcept { delete s; }
result<decompressor> decompressor::create(coding, int, std::uint32_t) { return unavailable(); }
decompressor::step decompressor::add(std::string_view, std::size_t, buffer&) {
    return {.error = errc::no_compression};
}
void decompressor::reset() noexcept {}
void decompressor::next_stream() noexcept {}
void decompressor::restart_ratio(std::uint32_t) noexcept {}

}  // namespace wire
