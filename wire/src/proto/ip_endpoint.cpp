// Reads address literals (RFC 4291 section 2.2) without the system's help.
#include "wire/proto/ip_endpoint.hpp"

#include <algorithm>
#include <cstddef>

#include "char_tables.hpp"

namespace wire {

namespace {

constexpr bool is_decimal(char c) noexcept { return c >= '0' && c <= '9'; }

// Cuts off what precedes the next `mark`, which must be there.
bool take_until(std::string_view& text, char mark, std::string_view& part) noexcept {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) return false;
    part = text.substr(0, at);
    text.remove_prefix(at + 1);
    return true;
}

bool take_octet(std::string_view text, std::uint8_t& out) noexcept {
    if (text.empty() || text.size() > 3 || (text.size() > 1 && text.front() == '0')) return false;
    unsigned value = 0;
    for (const char c : text) {
        if (!is_decimal(c)) return false;
        value = value * 10 + static_cast<unsigned>(c - '0');
    }
    out = static_cast<std::uint8_t>(value);
    return value <= 255;
}

bool take_ipv4(std::string_view text, std::uint8_t* out) noexcept {
    std::string_view part;
    for (int i = 0; i < 3; ++i) {
        if (!take_until(text, '.', part) || !take_octet(part, out[i])) return false;
    }
    return take_octet(text, out[3]);
}

// Groups between colons, the last of which may be IPv4, into at most 16 bytes. How many bytes it
// was; 17 when malformed. Nothing is no groups.
std::size_t take_groups(std::string_view text, bool may_end_in_ipv4, std::uint8_t* out) noexcept {
    constexpr std::size_t malformed = 17;
    if (text.empty()) return 0;
    for (std::size_t n = 0; n <= 14;) {
        std::string_view part = text;
        const bool last = !take_until(text, ':', part);
        if (last && may_end_in_ipv4 && part.find('.') != std::string_view::npos)
            return n <= 12 && take_ipv4(part, out + n) ? n + 4 : malformed;
        if (part.empty() || part.size() > 4) return malformed;
        unsigned value = 0;
        for (const char c : part) {
            const int digit = http::detail::hex_digit(c);
            if (digit < 0) return malformed;
            value = value * 16 + static_cast<unsigned>(digit);
        }
        out[n++] = static_cast<std::uint8_t>(value >> 8);
        out[n++] = static_cast<std::uint8_t>(value);
        if (last) return n;
    }
    return malformed;
}

}  // namespace

std::optional<ip_endpoint> parse_ipv4(std::string_view text) noexcept {
    ip_endpoint out;
    if (!take_ipv4(text, out.bytes.data())) return std::nullopt;
    return out;
}

std::optional<ip_endpoint> parse_ipv6(std::string_view text) noexcept {
    ip_endpoint out;
    out.v6 = true;
    const std::size_t gap = text.find("::");
    if (gap == std::string_view::npos) {
        if (take_groups(text, true, out.bytes.data()) != 16) return std::nullopt;
        return out;
    }
    std::array<std::uint8_t, 16> tail{};
    const std::size_t before = take_groups(text.substr(0, gap), false, out.bytes.data());
    const std::size_t after = take_groups(text.substr(gap + 2), true, tail.data());
    // "::" stands for one group at least.
    if (before + after > 14) return std::nullopt;
    std::copy_n(tail.begin(), after, out.bytes.end() - static_cast<std::ptrdiff_t>(after));
    return out;
}

std::optional<std::uint16_t> parse_port(std::string_view text) noexcept {
    if (text.empty() || text.size() > 5 || !std::all_of(text.begin(), text.end(), is_decimal))
        return std::nullopt;
    unsigned value = 0;
    for (const char c : text) value = value * 10 + static_cast<unsigned>(c - '0');
    if (value > 65535) return std::nullopt;
    return static_cast<std::uint16_t>(value);
}

}  // namespace wire
