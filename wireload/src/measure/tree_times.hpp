// The CPU time that a process and its descendants use over a window, with that of those which end
// in it.
//
// What a process used is in two numbers of the kernel: its own, and that of its children which it
// has waited for (cutime and cstime of proc(5), which contain those of their own children). When a
// child ends and is waited for, its time goes from its own numbers to its parent's. So the sum over
// all processes of a tree grows by what they use, whoever begins or ends meanwhile. It shrinks only
// by what ends and is not waited for inside the tree: the first process, one whose parent ignores
// SIGCHLD, one whose parent has ended. Such a one counts with what it had when it was last read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

namespace wireload {

struct cpu_time {
    std::uint64_t user_ns = 0;
    std::uint64_t system_ns = 0;

    std::uint64_t total_ns() const { return user_ns + system_ns; }
    cpu_time& operator+=(const cpu_time& more) {
        user_ns += more.user_ns;
        system_ns += more.system_ns;
        return *this;
    }
};

// How much more `now` is; a part that seems to have shrunk gives to the other. The kernel parts
// exact sums by whole ticks, and so may take from one part and give to the other.
cpu_time growth(const cpu_time& now, const cpu_time& before);

struct process_reading {
    pid_t pid = 0;
    pid_t parent = 0;
    std::uint64_t start = 0;  // tells it from another that had the same id
    cpu_time own;
    cpu_time children;  // that ended and were waited for, in whole ticks

    std::uint64_t total_ns() const { return own.total_ns() + children.total_ns(); }
};

class tree_times {
public:
    // `tick_ns`: how finely the kernel tells `children`.
    explicit tree_times(std::uint64_t tick_ns) : tick_ns_(tick_ns) {}

    // The window begins with these processes.
    void begin(const std::vector<process_reading>& all);
    // What is left of the processes that are known: those that are missing have ended.
    void read(const std::vector<process_reading>& left);
    // Processes that began in the window.
    void add(const std::vector<process_reading>& newer);
    bool knows(pid_t pid) const { return last_.contains(pid); }
    // Whether the process is one that is known, and not another that was given its id.
    bool knows(const process_reading& r) const {
        const auto known = last_.find(r.pid);
        return known != last_.end() && known->second.start == r.start;
    }

    // Since begin(), as far as was read.
    cpu_time used() const;

private:
    // The nearest process above `gone` that is left and may have its time; null when none is.
    const process_reading* heir_of(const process_reading& gone,
                                   const std::map<pid_t, process_reading>& left) const;

    std::uint64_t tick_ns_;
    std::map<pid_t, process_reading> last_;
    cpu_time at_begin_;
    cpu_time lost_;  // of those that ended and that nobody in the tree waited for
};

}  // namespace wireload
