#include "body_coding.hpp"

#include <algorithm>

#include "wire/proto/http_types.hpp"

namespace wire::http {

std::optional<wire::coding> body_coding_of(std::string_view content_encoding, std::string_view body) noexcept {
    if (equals_ignoring_case(content_encoding, "gzip") || equals_ignoring_case(content_encoding, "x-gzip")) return wire::coding::gzip;
    if (!equals_ignoring_case(content_encoding, "deflate")) return std::nullopt;
    if (body.size() < 2) return wire::coding::raw_deflate;
    // RFC 1950 section 2.2: method 8, and a check that makes both bytes a multiple of 31.
    const unsigned first = static_cast<unsigned char>(body[0]);
    const unsigned second = static_cast<unsigned char>(body[1]);
    return (first & 15U) == 8 && (first * 256 + second) % 31 == 0 ? wire::coding::zlib : wire::coding::raw_deflate;
}

errc decode_body(std::string_view body, wire::coding c, const limits& l, buffer& out) {
    auto made = decompressor::create(c, 15, l.max_decompression_ratio);
    if (!made) return made.code();
    const std::uint64_t most = l.max_body_bytes;
    for (;;) {
        // One byte more than may be, to see whether there is one. In steps, as storage is reserved for what may come.
        const std::uint64_t room = std::min<std::uint64_t>(most - out.size(), (1U << 20) - 1) + 1;
        const auto s = made->add(body, static_cast<std::size_t>(room), out);
        if (s.error != errc::none) return s.error;
        if (out.size() > most) return errc::body_too_large;
        body.remove_prefix(s.used);
        if (s.ended) {
            if (body.empty()) return errc::none;
            if (c != wire::coding::gzip) return errc::bad_compressed_data;
            made->next_stream();  // RFC 1952 section 2.2: members follow one another
        } else if (!s.more) {
            return errc::bad_compressed_data;
        }
    }
}

}  // namespace wire::http
