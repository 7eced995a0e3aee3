// The secrets of a TLS 1.3 connection, for records that wire makes itself: OpenSSL gives them only
// as lines of a key log (NSS key log format).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace wire::tls::detail {

// Of one direction.
struct traffic_secret {
    std::array<std::uint8_t, 48> bytes{};
    std::size_t size = 0;

    traffic_secret() = default;
    traffic_secret(const traffic_secret&) = delete;
    traffic_secret& operator=(const traffic_secret&) = delete;
    ~traffic_secret();  // wipes them
    std::span<const std::uint8_t> view() const noexcept { return {bytes.data(), size}; }
};

// There during the handshake.
struct traffic_secrets {
    traffic_secret client;
    traffic_secret server;
    // Behind the header, of the last record of our last flight.
    std::size_t last_record_bytes = 0;

    // A line: a label, the client's random bytes and the secret, with a space between and the last
    // two in hexadecimal digits. Those of other secrets are passed over.
    void take(std::string_view line) noexcept;
};

// Of whole records that follow each other.
struct record_sizes {
    std::size_t records = 0;
    std::size_t last_bytes = 0;  // behind the header
};
record_sizes measure(std::string_view flight) noexcept;

}  // namespace wire::tls::detail
