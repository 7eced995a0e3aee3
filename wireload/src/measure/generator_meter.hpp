// Measures what the generator itself costs: CPU time, memory, context switches.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "base/clock.hpp"

namespace wireload {

struct generator_usage {
    std::uint64_t cpu_user_ns = 0;
    std::uint64_t cpu_system_ns = 0;
    // Of the time of its threads' CPUs, without spinning; 1 means that the generator could do no
    // more.
    double cpu_share = 0;
    // Of the CPU time: looking for events without sleeping, and finding none.
    std::uint64_t spin_ns = 0;
    std::uint64_t rss_peak_bytes = 0;
    std::uint64_t voluntary_switches = 0;
    std::uint64_t involuntary_switches = 0;

    void take_spinning(std::uint64_t spun_ns, nanos elapsed, unsigned cpus);
    // Makes this the usage of two windows, `elapsed` long together.
    void add(const generator_usage& later, nanos elapsed, unsigned cpus);
    // From the CPU time above, over `elapsed`; it stays as it is where that is 0.
    void set_share(nanos elapsed, unsigned cpus);
};

class generator_meter {
public:
    void begin() { getrusage(RUSAGE_SELF, &before_); }
    // Since begin(), `elapsed` ago; the threads had `cpus` CPUs.
    generator_usage end(nanos elapsed, unsigned cpus) const;

private:
    rusage before_{};
};

}  // namespace wireload
