// Peers' addresses: kept in eight bytes for each connection, and counted where there is a limit for
// each address.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "wire/loop/address.hpp"

namespace wire::http::detail {

// IPv4 with its port lies in the eight bytes themselves, as does the other end of a Unix socket;
// IPv6, and a peer that a proxy named, have to be fetched from the heap.
class compact_address {
public:
    // `proxy` may be null.
    explicit compact_address(const address& a, const address* proxy = nullptr) {
        if (proxy != nullptr) {
            bits_ = reinterpret_cast<std::uintptr_t>(new by_proxy{a, *proxy}) | proxied_bit;
        } else if (a.family() == AF_INET) {
            sockaddr_in v4{};
            std::memcpy(&v4, a.raw(), sizeof v4);
            bits_ = std::uint64_t{v4.sin_addr.s_addr} << 32 | std::uint64_t{v4.sin_port} << 16 | 1;
        } else if (a.family() == AF_UNIX) {
            bits_ = unix_bits;
        } else {
            bits_ = reinterpret_cast<std::uintptr_t>(new address(a));
        }
    }
    ~compact_address() {
        if (proxied()) {
            delete pair();
        } else if ((bits_ & 1) == 0) {
            delete reinterpret_cast<address*>(bits_);
        }
    }
    compact_address(const compact_address&) = delete;
    compact_address& operator=(const compact_address&) = delete;

    // Whether a proxy named it.
    bool proxied() const noexcept { return (bits_ & 3) == proxied_bit; }
    // Precondition: proxied().
    const address& proxy() const noexcept { return pair()->proxy; }

    address get() const noexcept {
        if ((bits_ & 1) == 0) return proxied() ? pair()->peer : *reinterpret_cast<address*>(bits_);
        if (bits_ == unix_bits) return address::unix_peer();
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_addr.s_addr = static_cast<std::uint32_t>(bits_ >> 32);
        v4.sin_port = static_cast<std::uint16_t>(bits_ >> 16);
        return address::from(reinterpret_cast<const sockaddr*>(&v4));
    }

private:
    struct by_proxy {
        address peer;
        address proxy;
    };
    by_proxy* pair() const noexcept { return reinterpret_cast<by_proxy*>(bits_ & ~proxied_bit); }

    static constexpr std::uint64_t proxied_bit = 2;  // and the first is 0: by_proxy
    static constexpr std::uint64_t unix_bits = 3;    // IPv4 leaves the second bit 0

    std::uint64_t bits_;  // odd: not on the heap
};

// Open connections of each address (of IPv6, each /64: what one customer has) over all loops of a
// server. The other ends of Unix sockets have no address, and are not counted. Any thread.
class peer_counts {
public:
    explicit peer_counts(std::size_t most) : most_(most) {}

    bool add(const address& a) {
        if (a.family() == AF_UNIX) return true;
        const std::lock_guard lock(mutex_);
        std::size_t& n = counts_[key(a)];
        if (n >= most_) return false;
        ++n;
        return true;
    }
    void remove(const address& a) noexcept {
        if (a.family() == AF_UNIX) return;
        const std::lock_guard lock(mutex_);
        const auto found = counts_.find(key(a));
        if (found != counts_.end() && --found->second == 0) counts_.erase(found);
    }

private:
    static std::uint64_t key(const address& a) noexcept {
        std::uint64_t out = ~std::uint64_t{0};
        if (a.family() == AF_INET6) {
            sockaddr_in6 v6{};
            std::memcpy(&v6, a.raw(), sizeof v6);
            // ::ffff:a.b.c.d is IPv4 on a socket for both.
            if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
                std::memcpy(&out, v6.sin6_addr.s6_addr + 12, 4);
            } else {
                std::memcpy(&out, &v6.sin6_addr, 8);
            }
        } else {
            sockaddr_in v4{};
            std::memcpy(&v4, a.raw(), sizeof v4);
            std::memcpy(&out, &v4.sin_addr, 4);
        }
        return out;
    }

    const std::size_t most_;
    std::mutex mutex_;
    std::map<std::uint64_t, std::size_t> counts_;  // guarded by mutex_
};

}  // namespace wire::http::detail
