// Networks in CIDR notation (RFC 4632 section 3.1, RFC 4291 section 2.3).
#include "wire/loop/network.hpp"

#include <charconv>
#include <cstring>
#include <string>

namespace wire {

namespace {

// The bytes of an IP address, and how many.
struct octets {
    std::uint8_t at[16] = {};
    std::size_t size = 0;
};

octets octets_of(const address& a) noexcept {
    octets out;
    if (a.family() == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, a.raw(), sizeof v4);
        std::memcpy(out.at, &v4.sin_addr, out.size = 4);
    } else if (a.family() == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, a.raw(), sizeof v6);
        std::memcpy(out.at, &v6.sin6_addr, out.size = 16);
    }
    return out;
}

bool same_prefix(const std::uint8_t* a, const std::uint8_t* b, unsigned bits) noexcept {
    const unsigned whole = bits / 8;
    if (std::memcmp(a, b, whole) != 0) return false;
    const unsigned rest = bits % 8;
    return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

bool is_mapped(const octets& o) noexcept {
    static constexpr std::uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    return o.size == 16 && std::memcmp(o.at, prefix, sizeof prefix) == 0;
}

}  // namespace

result<network> network::parse(std::string_view text) { return read(text, true); }

result<network> network::around(std::string_view text) { return read(text, false); }

result<network> network::read(std::string_view text, bool exactly) {
    network out;
    if (text == "unix:") {
        out.base_ = address::unix_peer();
        return out;
    }
    const auto bad = [&](std::string_view why) {
        return error(errc::bad_argument,
                     "network \"" + std::string(text) + "\": " + std::string(why));
    };
    const std::size_t slash = text.find('/');
    const auto base = address::parse(text.substr(0, slash), 0);
    if (!base) return bad("expected an IPv4 or IPv6 address, and perhaps /prefix");
    out.base_ = *base;
    octets at = octets_of(*base);
    if (is_mapped(at)) return bad("write a network of IPv4 addresses as IPv4");
    unsigned bits = static_cast<unsigned>(at.size * 8);
    if (slash != std::string_view::npos) {
        const std::string_view prefix = text.substr(slash + 1);
        unsigned given = 0;
        const auto end = prefix.data() + prefix.size();
        const auto [stopped, failure] = std::from_chars(prefix.data(), end, given);
        if (failure != std::errc() || stopped != end || given > bits)
            return bad("the prefix must be a number of at most " + std::to_string(bits));
        bits = given;
    }
    for (std::size_t i = bits; exactly && i < at.size * 8; ++i) {
        if ((at.at[i / 8] >> (7 - i % 8) & 1) != 0) return bad("bits are set beyond the prefix");
    }
    out.bits_ = static_cast<std::uint8_t>(bits);
    return out;
}

bool network::contains(const address& a) const noexcept {
    if (base_.family() == AF_UNIX) return a.family() == AF_UNIX;
    const octets mine = octets_of(base_);
    const octets its = octets_of(a);
    if (its.size == mine.size) return same_prefix(mine.at, its.at, bits_);
    return mine.size == 4 && is_mapped(its) && same_prefix(mine.at, its.at + 12, bits_);
}

}  // namespace wire
