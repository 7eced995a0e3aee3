// The CPU quotas of the cgroups that a process is in: how much CPU time it may have, and how long
// the kernel stopped it because that was used up.
//
// A quota is a time in each period. It holds for a group together with all groups below it, so of
// several the smallest counts, and what others in the group use is gone for this process as well.
//
//   file        cgroup v2 (admin-guide/cgroup-v2)         v1 (scheduler/sched-bwc)
//   ---------   ---------------------------------------   ----------------------------------------
//   the quota   cpu.max                                   cpu.cfs_quota_us, cpu.cfs_period_us
//   the stops   cpu.stat: nr_throttled, throttled_usec    cpu.stat: nr_throttled, throttled_time
//
// A file that is absent or makes no sense says nothing. The functions never fail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace wireload {

// A quota that stopped a process for this share of a window was its limit: with 1% of the requests,
// p99 is the quota's.
inline constexpr double stopping_quota = 0.01;

// Over a window.
struct quota_use {
    struct stops {
        std::uint64_t periods = 0;                  // of the quota, in which the group was stopped
        nanos time = 0;                             // summed over the CPUs on which it was stopped
        std::optional<double> cpus = std::nullopt;  // that quota, at the window's end
    };
    std::optional<double> cpus;    // the smallest quota at the window's end; absent: none is known
    std::optional<stops> stopped;  // by the quota that did so for longest; absent: not known

    nanos window = 0;  // how long it was

    bool was_the_limit() const {
        return stopped && stopped->periods != 0 &&
               static_cast<double>(stopped->time) >= stopping_quota * static_cast<double>(window);
    }
    // Makes this the use of two windows.
    void add(const quota_use& later);
};

class cpu_quota {
public:
    cpu_quota() = default;  // no quota is known
    // Of the groups of a process: its id, or "self". Tests put /proc and /sys below `root`.
    static cpu_quota of_process(const std::string& process, const std::string& root = {});
    // Of a cgroup v2 folder.
    static cpu_quota of_folder(const std::string& folder);

    // The smallest, in CPUs; absent: none is known.
    std::optional<double> cpus() const;
    // How many of so many CPUs can be busy without being stopped; at least 1.
    unsigned usable(unsigned cpus) const;
    void begin();
    // Since begin().
    quota_use end() const;

private:
    struct level {
        std::string folder;
        bool v2 = false;
        std::optional<quota_use::stops> at_begin;
    };

    // Not one that can have no quota, such as a hierarchy's root: of that one to read cpu.stat
    // takes long on large hosts.
    void add(std::string folder, bool v2);
    static std::optional<double> cpus_of(const level& at);
    static std::optional<quota_use::stops> stops_of(const level& at);

    std::vector<level> levels_;
    nanos begun_ = 0;
};

}  // namespace wireload
