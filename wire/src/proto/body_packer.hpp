// What differs between the formats that bodies are compressed in; body_unpacker.hpp is the way
// back.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/accept_encoding.hpp"
#include "wire/proto/compression.hpp"

namespace wire::http {

// Encodes one stream after another. Owns memory outside itself; one thread at a time.
class body_packer {
public:
    virtual ~body_packer() = default;
    // Encodes `in` and appends to `out`. `how` is as for compressor::add(): after flush::sync all
    // that was added can be decoded from the output so far. system_error when memory is short:
    // nothing may be added then, nor after flush::finish, without reset().
    virtual errc add(std::string_view in, flush how, buffer& out) = 0;
    // Begins a new stream; false where a new packer is needed for that.
    virtual bool reset() noexcept = 0;
};

// Whether this wire was built with the library for `c`; false for identity.
bool can_pack(content_coding c) noexcept;
// Null where can_pack() says no, for a level that `c` does not have (gzip and deflate: 0 to 9, br:
// 0 to 11, zstd: 1 to 22), and when memory is short.
std::unique_ptr<body_packer> make_packer(content_coding c, int level);

// For make_packer(), with windows of 2^packed_window_bits bytes. Null as there.
std::unique_ptr<body_packer> make_br_packer(int level);
std::unique_ptr<body_packer> make_zstd_packer(int level);

// For br and zstd: far enough back for pages, and little enough for many bodies at a time.
constexpr int packed_window_bits = 17;

// What a coder asks a buffer for at a time, in bytes. At least 7: with less, zlib may repeat the
// marker of a sync.
constexpr std::size_t least_packed_space = 64;
constexpr std::size_t most_packed_space = 16 * 1024;

}  // namespace wire::http
