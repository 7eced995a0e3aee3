// What the generator itself costs.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <string>

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
};

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
            out.cpu_share = static_cast<double>(out.cpu_user_ns + out.cpu_system_ns) /
                            (static_cast<double>(elapsed) * cpus);
        }
        out.rss_peak_bytes = peak_memory();
        out.voluntary_switches = static_cast<std::uint64_t>(now.ru_nvcsw - before_.ru_nvcsw);
        out.involuntary_switches = static_cast<std::uint64_t>(now.ru_nivcsw - before_.ru_nivcsw);
        return out;
    }

private:
    // Not ru_maxrss: that is handed on by exec, so it may be the peak of the program that started
    // us (proc(5): VmHWM is not).
    static std::uint64_t peak_memory() {
        std::ifstream status("/proc/self/status");
        for (std::string word; status >> word;) {
            std::uint64_t kib = 0;
            if (word == "VmHWM:" && status >> kib) return kib * 1024;
        }
        return 0;
    }
    static std::uint64_t in_ns(const timeval& t) {
        return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(t.tv_usec) * 1'000;
    }
    rusage before_{};
};

}  // namespace wireload
