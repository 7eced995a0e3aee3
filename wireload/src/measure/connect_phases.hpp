// The steps of opening a connection, timed apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/histogram.hpp"
#include "wire/tls/connection.hpp"

namespace wireload {

struct connect_phases {
    histogram tcp;         // until the connection stood
    histogram tls;         // from then until the handshake was complete
    histogram upgrade;     // WebSocket: from then until its opening handshake was complete
    histogram first_byte;  // without keep-alive: from sending the first request until the first
                           // bytes of its reply came

    void merge(const connect_phases& other) noexcept {
        tcp.merge(other.tcp);
        tls.merge(other.tls);
        upgrade.merge(other.upgrade);
        first_byte.merge(other.first_byte);
    }
    void clear() noexcept {
        tcp.clear();
        tls.clear();
        upgrade.clear();
        first_byte.clear();
    }
};

// What the TLS handshakes of a run, warm-up included, agreed on.
struct tls_tally {
    struct agreed {
        std::string version, cipher, protocol;
        std::uint64_t count = 0;
    };
    std::uint64_t handshakes = 0;
    std::uint64_t resumed = 0;
    std::vector<agreed> kinds;

    void count(const wire::tls::connection_info& info) {
        ++handshakes;
        if (info.resumed) ++resumed;
        ++of(info.version, info.cipher, info.protocol).count;
    }
    void add(const tls_tally& other) {
        handshakes += other.handshakes;
        resumed += other.resumed;
        for (const agreed& k : other.kinds) of(k.version, k.cipher, k.protocol).count += k.count;
    }

private:
    agreed& of(std::string_view version, std::string_view cipher, std::string_view protocol) {
        const auto same = [&](const agreed& k) {
            return k.version == version && k.cipher == cipher && k.protocol == protocol;
        };
        const auto it = std::find_if(kinds.begin(), kinds.end(), same);
        if (it != kinds.end()) return *it;
        return kinds.emplace_back(
            agreed{std::string(version), std::string(cipher), std::string(protocol), 0});
    }
};

// Of --deflate: the opening handshakes of a run, warm-up included, that agreed on it, and those
// that did not.
struct deflate_tally {
    std::uint64_t with = 0;
    std::uint64_t without = 0;

    void add(const deflate_tally& other) {
        with += other.with;
        without += other.without;
    }
};

}  // namespace wireload
