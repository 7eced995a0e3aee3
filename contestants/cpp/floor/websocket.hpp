// WebSocket, server side (RFC 6455): the handshake's answer and one frame at a time, unmasked in
// place.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace wirebench::websocket {

inline constexpr std::size_t max_message_bytes = 16 * 1024 * 1024;

enum opcode : unsigned { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };
enum close_code : std::uint16_t {
    normal = 1000,
    protocol_error = 1002,
    not_utf8 = 1007,
    too_big = 1009
};

// FIPS 180-4, for texts of any length; only the handshake uses it.
inline std::array<unsigned char, 20> sha1(std::string message) {
    const std::uint64_t bits = message.size() * 8;
    message.push_back(static_cast<char>(0x80));
    while (message.size() % 64 != 56) message.push_back('\0');
    for (int shift = 56; shift >= 0; shift -= 8)
        message.push_back(static_cast<char>(bits >> shift));
    std::array<std::uint32_t, 5> hash{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    for (std::size_t block = 0; block < message.size(); block += 64) {
        std::array<std::uint32_t, 80> w{};
        for (std::size_t i = 0; i < 64; ++i)
            w[i / 4] |= static_cast<std::uint32_t>(static_cast<unsigned char>(message[block + i]))
                        << (24 - 8 * (i % 4));
        for (std::size_t i = 16; i < 80; ++i)
            w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        auto [a, b, c, d, e] = hash;
        for (std::size_t i = 0; i < 80; ++i) {
            const std::uint32_t f = i < 20   ? (b & c) | (~b & d)
                                    : i < 40 ? b ^ c ^ d
                                    : i < 60 ? (b & c) | (b & d) | (c & d)
                                             : b ^ c ^ d;
            const std::uint32_t k = i < 20   ? 0x5a827999
                                    : i < 40 ? 0x6ed9eba1
                                    : i < 60 ? 0x8f1bbcdc
                                             : 0xca62c1d6;
            const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
            e = d;
            d = c;
            c = std::rotl(b, 30);
            b = a;
            a = next;
        }
        hash = {hash[0] + a, hash[1] + b, hash[2] + c, hash[3] + d, hash[4] + e};
    }
    std::array<unsigned char, 20> out{};
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<unsigned char>(hash[i / 4] >> (24 - 8 * (i % 4)));
    return out;
}

// Section 4.2.2: what Sec-WebSocket-Accept must be for this key.
inline std::string accept_key(std::string_view key) {
    const auto hash = sha1(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t i = 0; i < 21; i += 3) {  // 20 bytes: six whole groups of three and one of two
        const unsigned group =
            hash[i] << 16u | hash[i + 1] << 8u | (i + 2 < hash.size() ? hash[i + 2] : 0u);
        for (int shift = 18; shift >= 0; shift -= 6)
            out.push_back(alphabet[(group >> shift) & 63u]);
    }
    out.back() = '=';
    return out;
}

// Section 4.1: sixteen bytes in base64.
inline bool is_key(std::string_view key) {
    return key.size() == 24 && key.ends_with("==") && key.find('=') == 22;
}

struct frame {
    bool final = false;
    unsigned op = 0;
    std::string_view payload;  // unmasked; a view into the bytes given to `parse`
};

enum class progress { need_more, complete, error };

struct outcome {
    progress kind = progress::need_more;
    std::size_t size = 0;              // complete: bytes of the frame
    std::size_t need = 0;              // need_more: do not try again with fewer bytes than this
    close_code code = protocol_error;  // error
};

inline void apply_mask(char* data, std::size_t size, const char* key) {
    char twice[8];
    std::memcpy(twice, key, 4);
    std::memcpy(twice + 4, key, 4);
    std::uint64_t mask;
    std::memcpy(&mask, twice, sizeof mask);
    std::size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        std::uint64_t word;
        std::memcpy(&word, data + at, sizeof word);
        word ^= mask;
        std::memcpy(data + at, &word, sizeof word);
    }
    for (; at < size; ++at) data[at] = static_cast<char>(data[at] ^ twice[at % 8]);
}

// Parses the frame at the front of the bytes, and unmasks it there once it is whole.
inline outcome parse(char* data, std::size_t size, frame& out) {
    using enum progress;
    if (size < 2) return {.kind = need_more, .need = 2};
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(data[i]); };
    out.final = (byte(0) & 0x80) != 0;
    out.op = byte(0) & 0x0f;
    const bool control = out.op >= 8;
    const bool known = control ? out.op <= pong : out.op <= binary;
    const bool masked = (byte(1) & 0x80) != 0;
    std::uint64_t length = byte(1) & 0x7f;
    if ((byte(0) & 0x70) != 0 || !known || !masked || (control && (!out.final || length > 125)))
        return {.kind = error};
    std::size_t head = 2;
    if (length >= 126) {
        const std::size_t wide = length == 126 ? 2 : 8;
        head += wide;
        if (size < head) return {.kind = need_more, .need = head};
        length = 0;
        for (std::size_t i = 2; i < head; ++i) length = length << 8 | byte(i);
        // Section 5.2: shortest form.
        if (length < 126 || (wide == 8 && (length <= 0xffff || length >> 63 != 0)))
            return {.kind = error};
        if (length > max_message_bytes) return {.kind = error, .code = too_big};
    }
    const std::size_t whole = head + 4 + length;
    if (size < whole) return {.kind = need_more, .need = whole};
    apply_mask(data + head + 4, length, data + head);
    out.payload = {data + head + 4, length};
    return {.kind = complete, .size = whole};
}

// The head of an unmasked, final frame.
inline void append_head(std::string& out, unsigned op, std::size_t length) {
    out.push_back(static_cast<char>(0x80 | op));
    const int wide = length < 126 ? 0 : length <= 0xffff ? 2 : 8;
    out.push_back(static_cast<char>(wide == 0 ? length : wide == 2 ? 126 : 127));
    for (int shift = 8 * (wide - 1); shift >= 0; shift -= 8)
        out.push_back(static_cast<char>(length >> shift));
}

// Section 7.4: may an endpoint send this code?
inline bool is_close_code(unsigned code) {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

}  // namespace wirebench::websocket
