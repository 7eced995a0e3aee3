// Content-Length, Transfer-Encoding and host names: the fields that decide framing and routing.
#include "field_line.hpp"

#include <array>

#include "char_tables.hpp"
#include "wire/proto/ip_endpoint.hpp"

namespace wire::http::detail {

void length_fields::content_length(std::string_view value) noexcept {
    ++lengths_;
    constexpr std::uint64_t most = (UINT64_MAX - 9) / 10;  // to which a digit can be added
    bad_length_ = bad_length_ || value.empty();
    std::uint64_t n = 0;
    for (const char c : value) {
        if (!is_digit(c) || n > most) {
            bad_length_ = true;
            return;
        }
        n = n * 10 + static_cast<unsigned>(c - '0');
    }
    length_ = n;
}

void length_fields::content_lengths(std::string_view value) noexcept {
    for (;;) {
        const std::size_t comma = value.find(',');
        const bool had = lengths_ > 0;
        const std::uint64_t before = length_;
        content_length(comma == std::string_view::npos ? value : trim(value.substr(0, comma)));
        if (had && length_ == before) --lengths_;
        if (comma == std::string_view::npos) return;
        value = trim(value.substr(comma + 1));
    }
}

void length_fields::transfer_encoding(std::string_view value) noexcept {
    codings_ = true;
    for (;;) {
        const std::size_t comma = value.find(',');
        const std::string_view coding = trim(value.substr(0, comma));
        if (!coding.empty()) {  // empty list elements count for nothing: RFC 9110 section 5.6.1
            last_is_chunked_ = equals_ignoring_case(coding, "chunked");
            if (last_is_chunked_) {
                ++chunked_count_;
            } else {
                unknown_coding_ = true;
            }
        }
        if (comma == std::string_view::npos) return;
        value.remove_prefix(comma + 1);
    }
}

errc length_fields::check(int minor_version) const noexcept {
    if (lengths_ > 1 || (lengths_ > 0 && codings_)) return errc::conflicting_length;
    if (bad_length_) return errc::bad_content_length;
    if (!codings_) return errc::none;
    // RFC 9112 section 6.1: HTTP/1.0 with Transfer-Encoding is faulty framing.
    if (minor_version == 0 || !last_is_chunked_ || chunked_count_ != 1)
        return errc::bad_transfer_encoding;
    return unknown_coding_ ? errc::unknown_transfer_encoding : errc::none;
}

namespace {

// unreserved and sub-delims (RFC 3986 section 2).
constexpr std::array<bool, 256> make_reg_name_table() {
    std::array<bool, 256> table{};
    for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
    for (int c = 'a'; c <= 'z'; ++c)
        table[static_cast<std::size_t>(c)] = table[static_cast<std::size_t>(c - 32)] = true;
    for (const char c : std::string_view("-._~!$&'()*+,;="))
        table[static_cast<unsigned char>(c)] = true;
    return table;
}
constexpr std::array<bool, 256> reg_name_table = make_reg_name_table();

// reg-name or IPv4address (RFC 3986 section 3.2.2) up to its end or a ':'. npos when malformed.
std::size_t scan_reg_name(std::string_view s) noexcept {
    std::size_t i = 0;
    for (; i < s.size() && s[i] != ':'; ++i) {
        if (reg_name_table[static_cast<unsigned char>(s[i])]) continue;
        if (s[i] != '%' || s.size() - i < 3 || hex_digit(s[i + 1]) < 0 || hex_digit(s[i + 2]) < 0)
            return std::string_view::npos;
        i += 2;
    }
    return i;
}

bool is_port(std::string_view s) noexcept {
    unsigned value = 0;
    for (const char c : s) {
        if (!is_digit(c)) return false;
        value = value * 10 + static_cast<unsigned>(c - '0');
        if (value > 65535) return false;
    }
    return true;  // an empty one is allowed by RFC 3986
}

}  // namespace

bool is_authority(std::string_view text) noexcept {
    if (!text.empty() && text.front() == '[') {
        const std::size_t close = text.find(']');
        if (close == std::string_view::npos) return false;
        if (!parse_ipv6(text.substr(1, close - 1))) return false;
        const std::string_view rest = text.substr(close + 1);
        return rest.empty() || (rest.front() == ':' && is_port(rest.substr(1)));
    }
    const std::size_t end = scan_reg_name(text);
    if (end == std::string_view::npos) return false;
    return end == text.size() || is_port(text.substr(end + 1));
}

}  // namespace wire::http::detail
