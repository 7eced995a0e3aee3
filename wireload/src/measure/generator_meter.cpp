#include "measure/generator_meter.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace wireload {
namespace {

// Not ru_maxrss: that is handed on by exec, so it may be the peak of the program that started
// us (proc(5): VmHWM is not).
std::uint64_t peak_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        std::uint64_t kib = 0;
        if (word == "VmHWM:" && status >> kib) return kib * 1024;
    }
    return 0;
}
std::uint64_t in_ns(const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(t.tv_usec) * 1'000;
}

}  // namespace

generator_limit generator_usage::limit() const {
    if (quota.was_the_limit()) return generator_limit::cpu_quota;
    return cpu_share > bound_generator ? generator_limit::cpu : generator_limit::none;
}

double generator_usage::used_share() const {
    return quota.was_the_limit() ? std::max(1.0, cpu_share) : cpu_share;
}

void generator_usage::take_spinning(std::uint64_t spun_ns, nanos elapsed, unsigned cpus) {
    spin_ns = std::min(spun_ns, cpu_user_ns + cpu_system_ns);
    set_share(elapsed, cpus);
}

void generator_usage::set_share(nanos elapsed, unsigned cpus) {
    if (elapsed <= 0) return;
    const std::uint64_t worked = cpu_user_ns + cpu_system_ns - spin_ns;
    cpu_share = static_cast<double>(worked) / (static_cast<double>(elapsed) * cpus);
}

void generator_usage::add(const generator_usage& later, nanos elapsed, unsigned cpus) {
    cpu_user_ns += later.cpu_user_ns;
    cpu_system_ns += later.cpu_system_ns;
    spin_ns += later.spin_ns;
    rss_peak_bytes = std::max(rss_peak_bytes, later.rss_peak_bytes);
    voluntary_switches += later.voluntary_switches;
    involuntary_switches += later.involuntary_switches;
    quota.add(later.quota);
    set_share(elapsed, cpus);
}

void generator_meter::begin() {
    quota_.begin();
    getrusage(RUSAGE_SELF, &before_);
}

generator_usage generator_meter::end(nanos elapsed, unsigned cpus) const {
    rusage now{};
    getrusage(RUSAGE_SELF, &now);
    generator_usage out;
    out.quota = quota_.end();
    out.cpu_user_ns = in_ns(now.ru_utime) - in_ns(before_.ru_utime);
    out.cpu_system_ns = in_ns(now.ru_stime) - in_ns(before_.ru_stime);
    out.set_share(elapsed, cpus);
    out.rss_peak_bytes = peak_memory();
    out.voluntary_switches = static_cast<std::uint64_t>(now.ru_nvcsw - before_.ru_nvcsw);
    out.involuntary_switches = static_cast<std::uint64_t>(now.ru_nivcsw - before_.ru_nivcsw);
    return out;
}

}  // namespace wireload
