// One order of the main thread to a worker: "send requests until ...".
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace wireload {

// Times are those of the steady clock.
struct load_order {
    enum class quota : std::uint8_t { endless, shared, each };

    nanos window_start = 0;    // what comes before is not counted
    nanos window_end = never;  // the load is cut there; what is in flight does not count
    // No request is begun after it; the order is done when the last was answered.
    nanos send_until = never;
    quota kind = quota::endless;
    std::uint64_t each = 0;
    std::atomic<std::int64_t>* shared = nullptr;
    bool reconnect = true;
    bool idle = false;  // nothing is sent; connections that are lost are errors
    // Open loop: the schedule begins here, with the warm-up, and holds what is due before its end;
    // the window's end above is then the moment until which the last replies are waited for.
    nanos schedule_start = 0;
    nanos schedule_end = never;
    std::uint64_t most = UINT64_MAX;  // requests in the window, of all threads of all parts
    nanos interval = never;           // of the series
    std::size_t first_interval = 0;
};

}  // namespace wireload
