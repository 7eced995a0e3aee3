// The kinds of errors, their counts, and the first error of a run in full.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

namespace wireload {

enum class error_kind : std::uint8_t {
    connect_refused,
    connect_timeout,
    connect_failed,  // any other failure to open, a refused WebSocket handshake among them
    tls,
    closed_early,  // the peer closed or reset the connection while a reply was due
    read_timeout,
    bad_status,
    bad_body,  // wrong bytes, wrong length, or an answer to another request
    protocol,  // bytes that are not HTTP/1.1 or RFC 6455
    deadline,  // open loop: not sent in time, or answered rightly but too late
};

inline constexpr std::array<std::string_view, 10> error_names = {
    "connect_refused", "connect_timeout", "connect_failed", "tls",      "closed_early",
    "read_timeout",    "bad_status",      "bad_body",       "protocol", "deadline"};

constexpr std::string_view name_of(error_kind kind) {
    return error_names[static_cast<std::size_t>(kind)];
}

struct error_counts {
    std::array<std::uint64_t, error_names.size()> by_kind{};

    std::uint64_t& operator[](error_kind kind) { return by_kind[static_cast<std::size_t>(kind)]; }
    std::uint64_t operator[](error_kind kind) const {
        return by_kind[static_cast<std::size_t>(kind)];
    }
    std::uint64_t total() const {
        return std::accumulate(by_kind.begin(), by_kind.end(), std::uint64_t{0});
    }
    void add(const error_counts& other) {
        for (std::size_t i = 0; i < by_kind.size(); ++i) by_kind[i] += other.by_kind[i];
    }
    bool operator==(const error_counts&) const = default;
};

// The first error of a run, for a person to read. Texts are cut and escaped by printable().
struct error_report {
    error_kind kind = error_kind::protocol;
    std::string sent;
    std::string expected;
    std::string received;
};

}  // namespace wireload
