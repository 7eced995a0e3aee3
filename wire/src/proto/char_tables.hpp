// Character classes of RFC 9110, and the search that decides how fast a head is parsed.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace wire::http::detail {

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
// The value of a hexadecimal digit in either case, or -1.
constexpr int hex_digit(char c) noexcept {
    if (is_digit(c)) return c - '0';
    return lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

constexpr std::array<bool, 256> make_token_table() {
    std::array<bool, 256> table{};
    for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
    for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
    for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
    for (const char c : std::string_view("!#$%&'*+-.^_`|~"))
        table[static_cast<unsigned char>(c)] = true;
    return table;
}
inline constexpr std::array<bool, 256> token_table = make_token_table();
constexpr bool is_token_char(char c) noexcept { return token_table[static_cast<unsigned char>(c)]; }

// Whether a field name, known to be a token, is `literal`, which is in lower case. Setting bit 5
// makes capitals small, and makes no letter, digit or '-' of any other token character: no table is
// needed, and eight bytes are compared at once.
template <std::size_t N> bool name_is(std::string_view name, const char (&literal)[N]) noexcept {
    constexpr std::size_t size = N - 1;
    if (name.size() != size) return false;
    constexpr std::uint64_t bits = 0x2020202020202020U;
    const auto differ = [&](std::size_t at, std::size_t n) {
        std::uint64_t a = 0;
        std::uint64_t b = 0;
        std::memcpy(&a, name.data() + at, n);
        std::memcpy(&b, literal + at, n);
        return ((a | bits) ^ (b | bits)) != 0;
    };
    std::size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        if (differ(at, 8)) return false;
    }
    // The last eight overlap those before; shorter literals take what there is.
    if constexpr (size >= 8) return size % 8 == 0 || !differ(size - 8, 8);
    return !differ(0, size % 8);
}

constexpr bool is_control_char(char c) noexcept {
    const auto u = static_cast<unsigned char>(c);
    return (u < 0x20 && u != '\t') || u == 0x7F;
}

// The first byte that may not stand in a field value (a control character other than tab), or
// `end`.
inline const char* find_control(const char* p, const char* end) noexcept {
#if defined(__SSE2__)
    const __m128i space = _mm_set1_epi8(0x1F);
    const __m128i tab = _mm_set1_epi8('\t');
    const __m128i del = _mm_set1_epi8(0x7F);
    for (; end - p >= 16; p += 16) {
        const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        // Unsigned v <= 0x1F, as min(v, 0x1F) == v.
        const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, space), v);
        const __m128i bad =
            _mm_or_si128(_mm_andnot_si128(_mm_cmpeq_epi8(v, tab), low), _mm_cmpeq_epi8(v, del));
        const auto mask = static_cast<unsigned>(_mm_movemask_epi8(bad));
        if (mask != 0) return p + std::countr_zero(mask);
    }
#endif
    for (; p != end; ++p) {
        if (is_control_char(*p)) return p;
    }
    return end;
}

constexpr void skip_space(std::string_view& s) noexcept {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
}

// Without spaces and tabs around it.
constexpr std::string_view trim(std::string_view s) noexcept {
    skip_space(s);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
    return s;
}

}  // namespace wire::http::detail
