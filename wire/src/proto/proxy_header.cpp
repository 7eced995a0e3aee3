// Both versions of the PROXY protocol, byte by byte where it matters.
//
//     first byte   version   ends
//     'P'          1         with the line: CRLF, within 107 bytes
//     CR           2         16 bytes, and as many as the last two of them say
//     other        -         at once
#include "wire/proto/proxy_header.hpp"

#include <algorithm>

namespace wire {

namespace {

constexpr std::string_view line_start = "PROXY ";
constexpr std::string_view signature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::size_t longest_line = 107;
constexpr std::size_t block_start = 16;

unsigned byte_at(std::string_view text, std::size_t at) noexcept {
    return static_cast<unsigned char>(text[at]);
}

std::size_t number_at(std::string_view text, std::size_t at) noexcept {
    return byte_at(text, at) << 8 | byte_at(text, at + 1);
}

// The block's own, with zeros for the four bytes of the checksum at `at` (RFC 3720 appendix B.4).
std::uint32_t crc32c(std::string_view block, std::size_t at) noexcept {
    std::uint32_t crc = 0xFFFFFFFFU;
    for (std::size_t i = 0; i < block.size(); ++i) {
        crc ^= i >= at && i < at + 4 ? 0U : byte_at(block, i);
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    }
    return ~crc;
}

// Bytes of both addresses and ports by the block's 14th byte: family and transport.
struct block_family {
    std::size_t size = 0;
    proxy_header::kind what = proxy_header::kind::unknown;
    bool known = true;
};

block_family family_of(unsigned code) noexcept {
    using kind = proxy_header::kind;
    switch (code) {
    case 0x00: return {};
    case 0x11: return {.size = 12, .what = kind::ip};
    case 0x21: return {.size = 36, .what = kind::ip};
    case 0x31: return {.size = 216, .what = kind::unix_socket};
    // Datagrams: well-formed, but no connection's.
    case 0x12: return {.size = 12};
    case 0x22: return {.size = 36};
    case 0x32: return {.size = 216};
    default: return {.known = false};
    }
}

// Ends with the next space, or with the text.
std::string_view take_word(std::string_view& text) noexcept {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return word;
}

bool take_ports(std::string_view& text, proxy_header& out) noexcept {
    // The specification forbids leading zeros.
    const auto port = [&text](std::uint16_t& to) {
        const std::string_view word = take_word(text);
        const auto number = parse_port(word);
        if (!number || (word.size() > 1 && word.front() == '0')) return false;
        to = *number;
        return true;
    };
    return port(out.source.port) && port(out.destination.port) && text.empty();
}

}  // namespace

proxy_header_parser::step proxy_header_parser::parse(std::string_view bytes) {
    std::size_t used = 0;
    while (used < bytes.size()) {
        const std::string_view rest = bytes.substr(used);
        const bool line = (held_.empty() ? rest : std::string_view(held_)).front() == 'P';
        std::size_t n = std::min(wanted(), rest.size());
        if (const std::size_t end = line ? rest.find('\n') : std::string_view::npos;
            end != std::string_view::npos)
            n = std::min(n, end + 1);
        held_.append(rest.substr(0, n));
        used += n;
        const event what = look();
        if (what != event::need_more) return {used, what};
    }
    return {used, event::need_more};
}

// The bytes to read before the next look; never 0 after a look that needs more.
std::size_t proxy_header_parser::wanted() const noexcept {
    if (held_.empty()) return 1;
    if (held_.front() == 'P') return longest_line - held_.size();
    if (held_.size() < block_start) return block_start - held_.size();
    return block_start + number_at(held_, 14) - held_.size();
}

proxy_header_parser::event proxy_header_parser::look() {
    const std::string_view held(held_);
    const std::string_view start = held.front() == 'P' ? line_start : signature;
    const std::size_t n = std::min(held.size(), start.size());
    if (held.substr(0, n) != start.substr(0, n)) return event::failed;
    return start == line_start ? look_at_line() : look_at_block();
}

proxy_header_parser::event proxy_header_parser::look_at_line() {
    std::string_view line(held_);
    if (line.back() != '\n') return line.size() < longest_line ? event::need_more : event::failed;
    if (!line.ends_with("\r\n") || line.size() <= line_start.size() + 2) return event::failed;
    line.remove_suffix(2);
    line.remove_prefix(line_start.size());
    const std::string_view family = take_word(line);
    if (family == "UNKNOWN") {
        header_.what = proxy_header::kind::unknown;
        return event::complete;  // whatever follows
    }
    if ((family != "TCP4" && family != "TCP6") || line.ends_with(' ')) return event::failed;
    const auto read = family == "TCP4" ? parse_ipv4 : parse_ipv6;
    const auto source = read(take_word(line));
    const auto destination = read(take_word(line));
    if (!source || !destination) return event::failed;
    header_ = {.what = proxy_header::kind::ip, .source = *source, .destination = *destination};
    return take_ports(line, header_) ? event::complete : event::failed;
}

proxy_header_parser::event proxy_header_parser::look_at_block() {
    const std::string_view block(held_);
    if (block.size() < block_start) return event::need_more;
    const unsigned command = byte_at(block, 12);
    if (command != 0x20 && command != 0x21) return event::failed;
    const std::size_t size = block_start + number_at(block, 14);
    if (size > most_bytes_) return event::failed;
    if (block.size() < size) return event::need_more;
    if (command == 0x20) return event::complete;  // LOCAL: the rest is to be skipped
    const block_family family = family_of(byte_at(block, 13));
    if (!family.known || size < block_start + family.size) return event::failed;
    header_.what = family.what;
    if (family.size == 0) return event::complete;  // UNSPEC: likewise
    if (!take_extensions(block.substr(block_start + family.size))) return event::failed;
    if (family.what == proxy_header::kind::ip) take_addresses(block, family.size == 36);
    return event::complete;
}

void proxy_header_parser::take_addresses(std::string_view block, bool v6) noexcept {
    const std::size_t width = v6 ? 16 : 4;
    std::size_t at = block_start;
    for (ip_endpoint* to : {&header_.source, &header_.destination}) {
        to->v6 = v6;
        for (std::size_t i = 0; i < width; ++i)
            to->bytes[i] = static_cast<std::uint8_t>(byte_at(block, at++));
    }
    header_.source.port = static_cast<std::uint16_t>(number_at(block, at));
    header_.destination.port = static_cast<std::uint16_t>(number_at(block, at + 2));
}

// Type, length of two bytes, value; all skipped but a checksum. False when one does not fit, or a
// checksum is wrong.
bool proxy_header_parser::take_extensions(std::string_view rest) const noexcept {
    constexpr unsigned checksum = 0x03;  // PP2_TYPE_CRC32C
    while (!rest.empty()) {
        if (rest.size() < 3) return false;
        const unsigned type = byte_at(rest, 0);
        const std::size_t size = number_at(rest, 1);
        if (rest.size() - 3 < size) return false;
        if (type == checksum) {
            if (size != 4) return false;
            const auto said =
                static_cast<std::uint32_t>(number_at(rest, 3) << 16 | number_at(rest, 5));
            const auto at = static_cast<std::size_t>(rest.data() - held_.data()) + 3;
            if (crc32c(held_, at) != said) return false;
        }
        rest.remove_prefix(3 + size);
    }
    return true;
}

}  // namespace wire
