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

#include "wire/base/export.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

// The codings that wire knows by name; identity is the body as it is. br is RFC 7932, zstd RFC
// 8878.
enum class content_coding : std::uint8_t { identity, gzip, deflate, br, zstd };

// "gzip", "deflate", "br", "zstd"; "" for identity, which no Content-Encoding field names.
WIRE_EXPORT std::string_view to_string(content_coding c) noexcept;

// Some codings, in an order.
class coding_list {
public:
    // As many as there are.
    static constexpr std::size_t most = 5;

    const content_coding* begin() const noexcept { return codings_.data(); }
    const content_coding* end() const noexcept { return codings_.data() + size_; }
    bool empty() const noexcept { return size_ == 0; }
    // Precondition: fewer than `most`, so far.
    void push_back(content_coding c) noexcept { codings_[size_++] = c; }

private:
    std::array<content_coding, most> codings_{};
    std::size_t size_ = 0;
};

// Those of `among` that are acceptable by all Accept-Encoding fields and no less welcome than
// identity, by descending weight; of equal ones in the order of `among`, which holds each coding
// once at most and not identity. "*" stands for those that are not named. Malformed elements count
// as not there.
WIRE_EXPORT coding_list accepted_codings(const header_list& fields,
                                         std::span<const content_coding> among) noexcept;

inline constexpr std::array codings_of_zlib{content_coding::gzip, content_coding::deflate};

// The first of accepted_codings(). Identity when there is none: also when there is no such field,
// and when nothing is acceptable that is left.
WIRE_EXPORT content_coding preferred_coding(
    const header_list& fields, std::span<const content_coding> among = codings_of_zlib) noexcept;

}  // namespace wire::http
