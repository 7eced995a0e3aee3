// What differs between the formats of coded bodies; the limits are body_decoder's.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/result.hpp"

namespace wire::http {

// Decodes one stream of a format, in steps. Owns memory outside itself; one thread at a time.
class body_unpacker {
public:
    struct step {
        // Bytes of input used up.
        std::size_t used = 0;
        // The stream is over; bytes that follow are not part of it.
        bool ended = false;
        // bad_compressed_data, or system_error when memory is short. Nothing may be added then.
        errc error = errc::none;
    };
    virtual ~body_unpacker() = default;
    // Decodes `in` and appends at most `room` bytes (more than none) to `out`. Where fewer came out
    // and nothing is wrong, all input up to the stream's end is used up and all its output is out.
    virtual step add(std::string_view in, std::size_t room, buffer& out) = 0;
    // Begins a stream that follows one that ended; false where the format knows no such thing.
    virtual bool next_stream() noexcept = 0;
};

// Whether this wire was built with the library of that coding. If not, its maker answers null, as
// it does when memory is short.
bool brotli_available() noexcept;
bool zstd_available() noexcept;

// For RFC 7932. Windows are at most 2^24 bytes: the large ones of other uses are refused.
std::unique_ptr<body_unpacker> make_br_unpacker();
// For RFC 8878. Frames with windows of more than 2^max_window_bits bytes are bad data.
std::unique_ptr<body_unpacker> make_zstd_unpacker(int max_window_bits);

}  // namespace wire::http
