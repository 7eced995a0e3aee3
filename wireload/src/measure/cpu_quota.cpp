#include "measure/cpu_quota.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "measure/cgroup_folders.hpp"

namespace wireload {
void quota_use::add(const quota_use& later) {
    cpus = later.cpus;
    window += later.window;
    if (!later.stopped) return;
    if (!stopped) stopped = stops{};
    stopped->periods += later.stopped->periods;
    stopped->time += later.stopped->time;
}

cpu_quota cpu_quota::of_process(const std::string& process, const std::string& root) {
    cpu_quota out;
    for (cgroup_folder& f : cgroup_folders("cpu", process, root)) out.add(std::move(f.path), f.v2);
    return out;
}

cpu_quota cpu_quota::of_folder(const std::string& folder) {
    namespace fs = std::filesystem;
    cpu_quota out;
    std::error_code failed;
    for (fs::path at = fs::canonical(folder, failed);
         !failed && fs::exists(at / "cgroup.procs", failed); at = at.parent_path())
        out.add(at.string(), true);
    return out;
}

void cpu_quota::add(std::string folder, bool v2) {
    std::error_code failed;
    if (std::filesystem::exists(folder + (v2 ? "/cpu.max" : "/cpu.cfs_quota_us"), failed))
        levels_.push_back({std::move(folder), v2, {}});
}

std::optional<double> cpu_quota::cpus_of(const level& at) {
    std::int64_t quota = 0, period = 0;
    if (at.v2) {
        std::ifstream in(at.folder + "/cpu.max");
        if (!(in >> quota >> period)) return std::nullopt;  // "max 100000" is none
    } else {
        std::ifstream in(at.folder + "/cpu.cfs_quota_us"),
            in_period(at.folder + "/cpu.cfs_period_us");
        if (!(in >> quota) || !(in_period >> period)) return std::nullopt;
    }
    if (quota <= 0 || period <= 0) return std::nullopt;  // v1 says -1 for none
    return static_cast<double>(quota) / static_cast<double>(period);
}

std::optional<quota_use::stops> cpu_quota::stops_of(const level& at) {
    std::optional<std::uint64_t> periods, time;
    std::ifstream in(at.folder + "/cpu.stat");
    std::uint64_t value = 0;
    for (std::string name; in >> name >> value;) {
        if (name == "nr_throttled") periods = value;
        if (name == "throttled_usec") time = value * 1'000;
        if (name == "throttled_time") time = value;
    }
    if (!periods || !time) return std::nullopt;
    return quota_use::stops{*periods, static_cast<nanos>(*time), std::nullopt};
}

std::optional<double> cpu_quota::cpus() const {
    std::optional<double> out;
    for (const level& at : levels_) {
        if (const auto one = cpus_of(at)) out = std::min(out.value_or(*one), *one);
    }
    return out;
}

unsigned cpu_quota::usable(unsigned cpus) const {
    const auto quota = this->cpus();
    if (!quota || *quota >= cpus) return std::max(1U, cpus);
    return std::max(1U, static_cast<unsigned>(*quota));
}

void cpu_quota::begin() {
    begun_ = clock_now();
    for (level& at : levels_) at.at_begin = stops_of(at);
}

quota_use cpu_quota::end() const {
    quota_use out;
    out.window = clock_now() - begun_;
    for (const level& at : levels_) {
        const auto now = stops_of(at);
        if (!now || !at.at_begin || now->periods < at.at_begin->periods ||
            now->time < at.at_begin->time)
            continue;
        const quota_use::stops grown{now->periods - at.at_begin->periods,
                                     now->time - at.at_begin->time, cpus_of(at)};
        if (!out.stopped || grown.time > out.stopped->time ||
            (grown.time == out.stopped->time && grown.periods > out.stopped->periods))
            out.stopped = grown;
    }
    out.cpus = cpus();
    return out;
}

}  // namespace wireload
