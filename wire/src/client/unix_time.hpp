// The time of day, for cookies and Retry-After.
#pragma once

#include <chrono>
#include <cstdint>

namespace wire::http {

inline std::int64_t unix_now() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace wire::http
