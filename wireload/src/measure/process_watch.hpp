// Measures what a server costs: CPU and memory of a process with all its descendants, or of a
// cgroup v2 folder, over a window.
//
// CPU is read at the edges of the window. Of processes it is the sum over those that live and those
// that ended (tree_times.hpp), and never the dead alone, which is what RUSAGE_CHILDREN knows. A
// cgroup counts both itself.
//
//   call       when                             reads
//   --------   ------------------------------   -------------------------------------------
//   open()     before the run                   whether the process or folder is there; slabs
//   find()     shortly before the window        the processes and their cgroups (milliseconds)
//   begin()    at the start of the window       their CPU time and memory
//   sample()   about every 100 ms inside it     their memory, for the peak, and their CPU time, in
//                                               case they end; of a cgroup the processes anew
//   end()      at the end of the window         CPU time and memory; processes found anew
//
// The main thread makes all calls, in this order; find() to end() again for each round of a ramp.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "measure/cpu_quota.hpp"
#include "measure/tree_times.hpp"

namespace wireload {

struct server_usage {
    std::uint64_t cpu_user_ns = 0;
    std::uint64_t cpu_system_ns = 0;
    std::uint64_t rss_bytes = 0;  // at the end
    // The largest sum that was seen: at both edges and at each sample(). A process that comes and
    // goes between two of them is in none; nor, by process id, one that came after find() and was
    // gone at end().
    std::uint64_t rss_peak_bytes = 0;
    std::optional<std::uint64_t> pss_bytes;  // at the end; absent where the kernel does not tell
    // The kernel's memory for it at the end, sockets among it: what the cgroup's memory.stat tells.
    std::optional<std::uint64_t> kernel_bytes;
    // What the whole host's unreclaimable slabs grew by since open(), both ends of each connection
    // among it.
    std::optional<std::int64_t> host_kernel_growth_bytes;
    std::uint32_t processes = 0;  // at the end
    quota_use quota;              // of its cgroups, where it was found last
};

class process_watch {
public:
    // `what` is a process id or the path of a cgroup v2 folder. The string says what is wrong.
    static std::variant<process_watch, std::string> open(const std::string& what);

    // Looks for the processes and their cgroups, which takes milliseconds; shortly before begin().
    void find();
    // Reads their CPU: at the moment at which the window begins.
    void begin();
    // Between the edges; cheap.
    void sample();
    server_usage end();
    // The processes that were found last, without those that sample() missed since.
    const std::vector<pid_t>& found() const { return known_; }
    // How often threads of the processes that were found last have slept and been woken, since they
    // began. Reads a file for each thread.
    std::uint64_t wake_ups() const;

private:
    process_watch();

    std::vector<pid_t> processes() const;
    // Reads the CPU of the known processes, and forgets those that have ended.
    void read_left();
    cpu_time read_cgroup() const;
    std::uint64_t resident_bytes() const;
    void read_kernel_memory(server_usage& out) const;

    pid_t root_ = 0;
    std::string cgroup_;  // empty: by process
    tree_times times_;    // by process
    cpu_time cgroup_at_begin_;
    std::vector<pid_t> known_;  // found last, parents before their children
    std::uint64_t peak_ = 0;
    std::optional<std::uint64_t> slabs_at_open_;
    cpu_quota quota_;
};

}  // namespace wireload
