// What the generator itself costs.
#pragma once

#include <sys/resource.h>

#include "run.hpp"

namespace wireload {

class generator_meter {
public:
    void begin() { getrusage(RUSAGE_SELF, &before_); }
    // Since begin(), `elapsed` ago; the threads had `cpus` CPUs.
    generator_usage end(nanos elapsed, unsigned cpus) const {
        rusage now{};
        getrusage(RUSAGE_SELF, &now);
        generator_usage out;
        out.cpu_user_ns = in_ns(now.ru_utime) - in_ns(before_.ru_utime);
        out.cpu_system_ns = in_ns(now.ru_stime) - in_ns(before_.ru_stime);
        if (elapsed > 0) {
            out.cpu_share = static_cast<double>(out.cpu_user_ns + out.cpu_system_ns) / (static_cast<double>(elapsed) * cpus);
        }
        out.rss_peak_bytes = static_cast<std::uint64_t>(now.ru_maxrss) * 1024;
        out.voluntary_switches = static_cast<std::uint64_t>(now.ru_nvcsw - before_.ru_nvcsw);
        out.involuntary_switches = static_cast<std::uint64_t>(now.ru_nivcsw - before_.ru_nivcsw);
        return out;
    }

private:
    static std::uint64_t in_ns(const timeval& t) {
        return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_usec) * 1'000;
    }
    rusage before_{};
};

}  // namespace wireload
