// DEFLATE streams in pieces (RFC 1951), bare or in the wrappings of zlib (RFC 1950) and gzip (RFC
// 1952).
//
//     auto packer = wire::compressor::create(wire::coding::gzip);
//     if (!packer) return packer.error();  // errc::no_compression: built without zlib
//     packer->add("some text", wire::flush::finish, out);
//
//     auto unpacker = wire::decompressor::create(wire::coding::gzip);
//     const auto step = unpacker->add(bytes, max_body_bytes - out.size(), out);
//
// Both own memory outside themselves (each says how much), keep it over reset(), and belong to one
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/export.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"

namespace wire {

// The wrapping of a stream: none, or a header and a checksum.
enum class coding : std::uint8_t { raw_deflate, zlib, gzip };

// Whether this wire was built with zlib; if not, create() below always fails with
// errc::no_compression.
WIRE_EXPORT bool compression_available() noexcept;

// How a compressor trades speed and memory for size.
struct compression_options {
    // 0 (stored) to 9 (smallest); 1 is several times as fast as 6.
    int level = 6;
    // How far back repetitions are found, as a power of two: 9 to 15.
    int window_bits = 15;
    // Size of the compressor's hash tables and output block: 1 to 9.
    int memory_level = 8;
    bool operator==(const compression_options&) const = default;
};

// What compressor::add() does at the end of its input.
enum class flush : std::uint8_t {
    // May keep bytes back, to compress them better with what follows.
    none,
    // Everything that was added can be decompressed from the output so far, which ends with 00 00
    // FF FF (an empty stored block).
    sync,
    // Ends the stream.
    finish,
};

// Holds 2^(window_bits + 2) + 2^(memory_level + 9) bytes and some 6 KiB: 262 KiB with the default
// options.
class WIRE_EXPORT compressor {
public:
    // errc::bad_argument for options out of range, system_error when memory is short.
    static result<compressor> create(coding c, const compression_options& options = {});

    // Compresses `in` and appends to `out`. errc::bad_argument after finish without reset();
    // nothing else can go wrong. A second sync with nothing added since the first appends nothing.
    [[nodiscard]] errc add(std::string_view in, flush how, buffer& out);
    // Begins a new stream with the same options.
    void reset() noexcept;

private:
    struct state;
    struct destroy {
        void operator()(state* s) const noexcept;
    };
    explicit compressor(std::unique_ptr<state, destroy> s) noexcept : state_(std::move(s)) {}
    std::unique_ptr<state, destroy> state_;
};

// Holds some 7 KiB, and 2^window_bits bytes as soon as input goes on after output.
class WIRE_EXPORT decompressor {
public:
    // The ratio does not count before this many bytes of output: a few bytes may well stand for a
    // page of blanks or a repetitive file, and limits on size hold all the same.
    static constexpr std::size_t ratio_floor_bytes = 4 * 1024 * 1024;

    // `window_bits`, 8 to 15: the largest window that the sender may use; data that need more fail,
    // or may. `max_ratio`: how many bytes of output one byte of input may give on the average
    // (limits::max_decompression_ratio); 0: any number. errc::bad_argument for a window out of
    // range, system_error when memory is short.
    static result<decompressor> create(coding c, int window_bits = 15,
                                       std::uint32_t max_ratio = limits().max_decompression_ratio);

    // What one call of add() has done.
    struct step {
        // Bytes of input used up.
        std::size_t used = 0;
        // The stream is over and its checksum right; bytes that follow are not part of it.
        bool ended = false;
        // `max_out` was reached: call again, with the rest of the input, to see if there is more.
        bool more = false;
        // A block has just ended at the end of a byte, as after flush::sync, and all its output is
        // out.
        bool whole = false;
        // bad_compressed_data, expands_too_much, or system_error when memory is short. Lasting:
        // every call answers so until reset().
        errc error = errc::none;
    };
    // Decompresses `in` and appends at most `max_out` bytes to `out`. Where the input is over and
    // `ended` was never set, the stream was cut off.
    step add(std::string_view in, std::size_t max_out, buffer& out);
    // Begins a new stream.
    void reset() noexcept;
    // Begins a stream that belongs to the last one, such as a further member of a gzip file: the
    // ratio counts both together.
    void next_stream() noexcept;
    // Begins to count the ratio anew, against `max_ratio`: for a stream of many messages.
    void restart_ratio(std::uint32_t max_ratio) noexcept;

private:
    struct state;
    struct destroy {
        void operator()(state* s) const noexcept;
    };
    explicit decompressor(std::unique_ptr<state, destroy> s) noexcept : state_(std::move(s)) {}
    std::unique_ptr<state, destroy> state_;
};

}  // namespace wire
