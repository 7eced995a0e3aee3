// What one loop counts: written by its thread alone.
#pragma once

#include <array>
#include <cstdint>

#include "base/counter.hpp"
#include "websocket/traffic.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http::detail {

using wire::detail::counter;

enum class refusal : std::uint8_t { limit, address, proxy };
enum class timeout_phase : std::uint8_t { handshake, head, body, idle, write, handler };
enum class limit_hit : std::uint8_t { uri, header, headers, body, chunk_extensions };

struct loop_metrics {
    static constexpr std::array<std::uint32_t, 14> bounds_us{
        500,     1'000,   2'500,   5'000,     10'000,    25'000,    50'000,
        100'000, 250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000};
    counter accepted;
    counter closed;
    std::array<counter, 3> refused;
    // Status classes 1 to 5 and 0 for none, by method.
    std::array<std::array<counter, 6>, static_cast<std::size_t>(method::other) + 1> requests;
    std::array<counter, bounds_us.size() + 1> durations;  // not cumulative
    counter duration_ns;
    counter bytes_in;
    counter bytes_out;
    std::array<counter, 6> timeouts;
    std::array<counter, 5> limits;
    counter handshake_failures;
    counter exceptions;
    counter sessions_opened;
    counter sessions_closed;
    ws::detail::traffic messages;
};

}  // namespace wire::http::detail
