// The codings that bodies are decoded from. Apart from body_coding.cpp, so that a server that
// decodes nothing needs none of their libraries.
#include <algorithm>
#include <array>

#include "body_coding.hpp"
#include "wire/proto/compression.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

namespace {

class deflate_unpacker final : public body_unpacker {
public:
    deflate_unpacker(decompressor d, bool gzip) noexcept : by_(std::move(d)), gzip_(gzip) {}
    step add(std::string_view in, std::size_t room, buffer& out) override {
        const auto s = by_.add(in, room, out);
        return {.used = s.used, .ended = s.ended, .error = s.error};
    }
    // RFC 1952 section 2.2: members follow one another.
    bool next_stream() noexcept override {
        by_.next_stream();
        return gzip_;
    }

private:
    decompressor by_;
    bool gzip_;
};

std::unique_ptr<body_unpacker> deflate(coding c) {
    auto made = decompressor::create(c, 15, 0);
    if (!made) return nullptr;
    return std::make_unique<deflate_unpacker>(*std::move(made), c == coding::gzip);
}

std::unique_ptr<body_unpacker> gzip(char, int) { return deflate(coding::gzip); }
// "deflate" is zlib's format by the standard, and bare DEFLATE by some servers. zlib's begins with
// method 8 in the low half of a byte (RFC 1950 section 2.2); in DEFLATE that would be a stored
// block with bits set in its padding (RFC 1951 section 3.2.4), which no compressor writes.
std::unique_ptr<body_unpacker> either_deflate(char first, int) {
    return deflate((static_cast<unsigned char>(first) & 15U) == 8 ? coding::zlib
                                                                  : coding::raw_deflate);
}
std::unique_ptr<body_unpacker> br(char, int) { return make_br_unpacker(); }
std::unique_ptr<body_unpacker> zstd(char, int window_bits) {
    return make_zstd_unpacker(window_bits);
}

// The codings in the order in which they are listed for peers.
struct known_coding {
    std::string_view name;
    bool (*available)() noexcept;
    std::unique_ptr<body_unpacker> (*make)(char first, int max_window_bits);
};
constexpr std::array<known_coding, 4> known{{{"gzip", compression_available, gzip},
                                             {"deflate", compression_available, either_deflate},
                                             {"br", brotli_available, br},
                                             {"zstd", zstd_available, zstd}}};

}  // namespace

void append_decoded_codings(std::string& to) {
    std::string_view between;
    for (const known_coding& k : known) {
        if (!k.available()) continue;
        to.append(between).append(k.name);
        between = ", ";
    }
}

bool decodes_any_coding() noexcept {
    return std::any_of(known.begin(), known.end(),
                       [](const known_coding& k) { return k.available(); });
}

std::optional<body_decoder> body_decoder::of(std::string_view content_encoding, const limits& l,
                                             int max_window_bits) noexcept {
    // Empty elements of the list count for nothing: RFC 9110 section 5.6.1.
    const auto drop_empty = [](std::string_view s) {
        const auto from = std::min(s.find_first_not_of(", \t"), s.size());
        return s.substr(from, s.find_last_not_of(", \t") + 1 - from);
    };
    content_encoding = drop_empty(content_encoding);
    if (equals_ignoring_case(content_encoding, "x-gzip")) content_encoding = "gzip";
    for (const known_coding& k : known) {
        if (equals_ignoring_case(content_encoding, k.name) && k.available())
            return body_decoder(k.make, l, max_window_bits);
    }
    return std::nullopt;
}

}  // namespace wire::http
