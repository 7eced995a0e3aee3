#include "core_watch.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>

namespace wireload {
namespace {

constexpr std::int64_t tick_ns = 250'000;
// Later than this is a gap: an interrupt and a switch of threads take a tenth of it.
constexpr std::int64_t least_ns = 100'000;
// Until a thread that has become due runs. A stamp in this time says nothing against a gap that began right after it.
constexpr std::int64_t grace_ns = 20'000;
constexpr std::size_t most_gaps = 65'536;

std::int64_t clock_ns(clockid_t which) {
    timespec t{};
    clock_gettime(which, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}
std::int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

void sleep_until(std::int64_t at) {
    const timespec t{.tv_sec = at / 1'000'000'000, .tv_nsec = at % 1'000'000'000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
    }
}

}  // namespace

core_watch::core_watch(int core, const std::atomic<std::int64_t>& seen_ns) : seen_ns_(seen_ns) {
    record_.core = core;
    record_.gaps.reserve(1024);
    thread_ = std::thread([this] {
        if (take_place()) watch();
    });
}

core_watch::~core_watch() {
    stopping_.store(true, std::memory_order_relaxed);
    if (thread_.joinable()) thread_.join();
}

core_record core_watch::stop() {
    stopping_.store(true, std::memory_order_relaxed);
    thread_.join();
    return std::move(record_);
}

bool core_watch::take_place() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(record_.core), &set);
    const sched_param priority{.sched_priority = 10};
    const char* what = "its core";
    if (sched_setaffinity(0, sizeof set, &set) == 0) {
        if (sched_setscheduler(0, SCHED_FIFO, &priority) == 0) return true;
        what = "real-time priority (it takes CAP_SYS_NICE, or ulimit -r)";
    }
    record_.problem = std::string("the watch cannot have ") + what + ": " + std::system_category().message(errno);
    return false;
}

void core_watch::watch() {
    const std::int64_t unix_offset = clock_ns(CLOCK_REALTIME) - now_ns();
    std::int64_t before = now_ns();
    std::int64_t due = before + tick_ns;
    while (!stopping_.load(std::memory_order_relaxed)) {
        sleep_until(due);
        const std::int64_t now = now_ns();
        ++record_.looks;
        const std::int64_t seen = std::min(seen_ns_.load(std::memory_order_relaxed), now);
        // Somebody ran well after we should have: the timer was late, not the core.
        const bool ran = seen > due + grace_ns;
        if (now - due > least_ns && !ran) {
            if (record_.gaps.size() == most_gaps) {
                ++record_.left_out;
            } else {
                record_.gaps.push_back({now + unix_offset, now - std::max(due, seen), now - std::max(before, seen)});
            }
        }
        before = now_ns();
        due = now + tick_ns;
    }
}

nlohmann::ordered_json to_json(const std::vector<core_record>& records) {
    using json = nlohmann::ordered_json;
    json cores = json::array();
    for (const core_record& r : records) {
        json gaps = json::array();
        for (const core_gap& g : r.gaps) gaps.push_back({g.end_unix_ns, g.shortest_ns, g.longest_ns});
        cores.push_back({{"core", r.core},
                         {"problem", r.problem.empty() ? json(nullptr) : json(r.problem)},
                         {"looks", r.looks},
                         {"left_out", r.left_out},
                         {"gaps", std::move(gaps)}});
    }
    return {{"schema", "core-gaps/1"}, {"cores", std::move(cores)}};
}

}  // namespace wireload
