// When did a core stand still? A virtual machine's core may be stopped for milliseconds by its host, unseen by the guest, and whatever is
// measured on it then is late through nobody's fault. This tells such moments from those in which a program was merely slow.
//
// A thread on the same core, with a priority above all ordinary ones, sleeps to the next multiple of a quarter of a millisecond and
// notes when it comes back late. A busy program cannot hold it up; what can is a core that does not run, or a process that was
// stopped (SIGSTOP). It is told apart from a mere late timer by a stamp that the watched thread leaves: whoever ran after the moment
// was not standing still. Costs some 2% of the core, and takes the right to real-time priority (CAP_SYS_NICE).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

namespace wireload {

struct core_gap {
    std::int64_t end_unix_ns;  // it ran again
    std::int64_t shortest_ns;  // it stood still for at least
    std::int64_t longest_ns;   // and at most as long
};

struct core_record {
    int core = 0;
    std::string problem;  // why nothing could be recorded; empty: it was
    std::uint64_t looks = 0;
    std::uint64_t left_out = 0;  // gaps that found no place
    std::vector<core_gap> gaps;
};

class core_watch {
public:
    // On the core `core`. `seen_ns`: when the watched thread last ran, on the steady clock; must outlive this.
    core_watch(int core, const std::atomic<std::int64_t>& seen_ns);
    ~core_watch();
    core_watch(const core_watch&) = delete;
    core_watch& operator=(const core_watch&) = delete;

    // Ends it. Once.
    core_record stop();

private:
    void watch();
    bool take_place();

    const std::atomic<std::int64_t>& seen_ns_;
    core_record record_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

// {"schema": "core-gaps/1", "cores": [{"core", "problem", "looks", "left_out", "gaps": [[end_unix_ns, shortest_ns, longest_ns], ...]}]}
nlohmann::ordered_json to_json(const std::vector<core_record>& records);

}  // namespace wireload
