// Undoes one Content-Encoding, in steps that bound what comes out.
#include "body_coding.hpp"

#include <algorithm>

#include "wire/proto/http_types.hpp"

namespace wire::http {

std::optional<body_decoder> body_decoder::of(std::string_view content_encoding,
                                             const limits& l) noexcept {
    const bool gzip = equals_ignoring_case(content_encoding, "gzip") ||
                      equals_ignoring_case(content_encoding, "x-gzip");
    if (!gzip && !equals_ignoring_case(content_encoding, "deflate")) return std::nullopt;
    return body_decoder(gzip, l);
}

// "deflate" is zlib's format by the standard, and bare DEFLATE by some servers. zlib's begins with
// method 8 in the low half of a byte (RFC 1950 section 2.2); in DEFLATE that would be a stored
// block with bits set in its padding (RFC 1951 section 3.2.4), which no compressor writes.
errc body_decoder::begin(char first) {
    begun_ = true;
    const coding c = gzip_                                            ? coding::gzip
                     : (static_cast<unsigned char>(first) & 15U) == 8 ? coding::zlib
                                                                      : coding::raw_deflate;
    auto made = decompressor::create(c, 15, max_ratio_);
    if (!made) return made.code();
    unpacker_.emplace(*std::move(made));
    return errc::none;
}

errc body_decoder::add(std::string_view& in, std::size_t most, buffer& out) {
    while (most > 0 && (!in.empty() || more_)) {
        if (!begun_) {
            if (const errc failed = begin(in.front()); failed != errc::none) return failed;
        }
        if (ended_) {
            if (!gzip_) return errc::bad_compressed_data;
            unpacker_->next_stream();  // RFC 1952 section 2.2: members follow one another
        }
        const std::size_t before = out.size();
        // Room for one byte beyond the limit, to see whether the body exceeds it.
        const std::uint64_t room = std::min<std::uint64_t>(left_, most - 1) + 1;
        const auto s = unpacker_->add(in, static_cast<std::size_t>(room), out);
        in.remove_prefix(s.used);
        more_ = s.more;
        ended_ = s.ended;
        if (s.error != errc::none) return s.error;
        const std::size_t made = out.size() - before;
        if (made > left_) return errc::body_too_large;
        left_ -= made;
        most -= made;
    }
    return errc::none;
}

}  // namespace wire::http
