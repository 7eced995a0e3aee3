// Which content coding a client wants (RFC 9110 section 12.5.3).
//
//     switch (wire::http::preferred_coding(request.headers)) {
//     case wire::http::content_coding::gzip: ...
//     }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/proto/http_types.hpp"

namespace wire::http {

// The codings that wire knows by name; identity is the body as it is. It makes gzip and deflate
// itself; br (RFC 7932) and zstd (RFC 8878) are for files that were made by others.
enum class content_coding : std::uint8_t { identity, gzip, deflate, br, zstd };

// "gzip", "deflate", "br", "zstd"; "" for identity, which no Content-Encoding field names.
std::string_view to_string(content_coding c) noexcept;

// The coding with the greatest weight in all Accept-Encoding fields; of equal ones gzip before
// deflate before identity. Identity is also the answer when there is no such field, and when
// nothing that is left is acceptable. "*" stands for gzip and deflate where they are not named.
// Malformed elements count as not there.
content_coding preferred_coding(const header_list& fields) noexcept;

// Some codings, in an order.
class coding_list {
public:
    const content_coding* begin() const noexcept { return codings_.data(); }
    const content_coding* end() const noexcept { return codings_.data() + size_; }
    bool empty() const noexcept { return size_ == 0; }
    // Precondition: fewer than five, so far.
    void push_back(content_coding c) noexcept { codings_[size_++] = c; }

private:
    std::array<content_coding, 5> codings_{};
    std::size_t size_ = 0;
};

// Those of `among` that are acceptable and no less welcome than identity, by descending weight; of
// equal ones in the order of `among`, which holds each coding once at most and not identity.
coding_list accepted_codings(const header_list& fields,
                             std::span<const content_coding> among) noexcept;

}  // namespace wire::http
