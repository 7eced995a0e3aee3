// Measures what the generator itself costs: CPU time, memory, context switches.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "base/clock.hpp"
#include "measure/cpu_quota.hpp"

namespace wireload {

// Shares of the time of the generator's CPUs. Beyond the first, bursts of replies wait for it;
// beyond the second, what was measured is the generator.
inline constexpr double busy_generator = 0.8;
inline constexpr double bound_generator = 0.95;

// What kept the generator from doing more.
enum class generator_limit : std::uint8_t { none, cpu, cpu_quota };

struct generator_usage {
    std::uint64_t cpu_user_ns = 0;
    std::uint64_t cpu_system_ns = 0;
    // Of the time of its threads' CPUs, without spinning; 1 means that the generator could do no
    // more. A quota may stop it long before.
    double cpu_share = 0;
    // Of the CPU time: looking for events without sleeping, and finding none.
    std::uint64_t spin_ns = 0;
    std::uint64_t rss_peak_bytes = 0;
    std::uint64_t voluntary_switches = 0;
    std::uint64_t involuntary_switches = 0;
    quota_use quota;

    generator_limit limit() const;
    // cpu_share, and at least 1 where a quota was the limit.
    double used_share() const;

    void take_spinning(std::uint64_t spun_ns, nanos elapsed, unsigned cpus);
    // Makes this the usage of two windows, `elapsed` long together.
    void add(const generator_usage& later, nanos elapsed, unsigned cpus);
    // From the CPU time above, over `elapsed`; it stays as it is where that is 0.
    void set_share(nanos elapsed, unsigned cpus);
};

class generator_meter {
public:
    explicit generator_meter(const cpu_quota& quota) : quota_(quota) {}

    void begin();
    // Since begin(), `elapsed` ago; the threads had `cpus` CPUs.
    generator_usage end(nanos elapsed, unsigned cpus) const;

private:
    cpu_quota quota_;
    rusage before_{};
};

}  // namespace wireload
