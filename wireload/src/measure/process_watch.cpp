#include "measure/process_watch.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include <fmt/format.h>

namespace wireload {
namespace {

std::optional<std::string> read_file(const std::string& path) {
    std::ifstream in(path);
    if (!in) return std::nullopt;
    std::ostringstream content;
    content << in.rdbuf();
    return content.str();
}

std::vector<std::uint64_t> numbers(const std::string& text) {
    std::vector<std::uint64_t> out;
    std::istringstream in(text);
    for (std::uint64_t n = 0; in >> n;) out.push_back(n);
    return out;
}

// The value after `key` in lines of "key value" or "key: value kB".
std::optional<std::uint64_t> field(const std::string& text, const std::string& key) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with(key)) continue;
        const std::size_t digit = line.find_first_of("0123456789", key.size());
        if (digit == std::string::npos) return std::nullopt;
        std::uint64_t value = 0;
        std::from_chars(line.data() + digit, line.data() + line.size(), value);
        return value;
    }
    return std::nullopt;
}

// The fields of /proc/<pid>/stat after the command's closing bracket: index 0 is the state
// (proc(5), field 3).
std::vector<std::string> stat_fields(pid_t pid) {
    const auto text = read_file(fmt::format("/proc/{}/stat", pid));
    std::vector<std::string> out;
    if (!text || text->rfind(')') == std::string::npos) return out;
    std::istringstream in(text->substr(text->rfind(')') + 1));
    for (std::string word; in >> word;) out.push_back(word);
    return out;
}

std::vector<pid_t> all_pids() {
    std::vector<pid_t> out;
    DIR* const proc = opendir("/proc");
    if (proc == nullptr) return out;
    while (const dirent* entry = readdir(proc)) {
        const std::string name = entry->d_name;
        if (name.find_first_not_of("0123456789") == std::string::npos)
            out.push_back(static_cast<pid_t>(std::stol(name)));
    }
    closedir(proc);
    return out;
}

// By the parent of every process: right also where the kernel was built without
// /proc/<pid>/task/<tid>/children.
std::vector<pid_t> tree_of(pid_t root) {
    std::multimap<pid_t, pid_t> children;
    for (const pid_t pid : all_pids()) {
        const auto fields = stat_fields(pid);
        if (fields.size() > 1) children.emplace(static_cast<pid_t>(std::stol(fields[1])), pid);
    }
    std::vector<pid_t> out{root};
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto [first, last] = children.equal_range(out[i]);
        for (auto child = first; child != last; ++child) out.push_back(child->second);
    }
    return out;
}

void processes_in(const std::string& cgroup, std::vector<pid_t>& out) {
    for (const std::uint64_t pid : numbers(read_file(cgroup + "/cgroup.procs").value_or(""))) {
        out.push_back(static_cast<pid_t>(pid));
    }
    DIR* const folder = opendir(cgroup.c_str());
    if (folder == nullptr) return;
    while (const dirent* entry = readdir(folder)) {
        const std::string name = entry->d_name;
        if (entry->d_type == DT_DIR && name != "." && name != "..")
            processes_in(cgroup + "/" + name, out);
    }
    closedir(folder);
}

std::uint64_t tick_ns() {
    return 1'000'000'000ULL / static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_CLK_TCK)));
}

// Absent when it has ended.
std::optional<process_reading> reading_of(pid_t pid) {
    const auto fields = stat_fields(pid);
    if (fields.size() < 20) return std::nullopt;
    const auto ticks = [&](std::size_t index) { return std::stoull(fields[index]) * tick_ns(); };
    process_reading out{.pid = pid,
                        .parent = static_cast<pid_t>(std::stol(fields[1])),
                        .start = std::stoull(fields[19]),
                        .own = {ticks(11), ticks(12)},
                        .children = {ticks(13), ticks(14)}};
    // Ticks are 10 ms; the process's CPU clock is exact. It gives the sum, the ticks how it
    // divides.
    clockid_t clock{};
    timespec exact{};
    if (clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &exact) == 0) {
        const std::uint64_t total = static_cast<std::uint64_t>(exact.tv_sec) * 1'000'000'000 +
                                    static_cast<std::uint64_t>(exact.tv_nsec);
        const std::uint64_t in_ticks = out.own.total_ns();
        const double user =
            in_ticks == 0 ? 0.5
                          : static_cast<double>(out.own.user_ns) / static_cast<double>(in_ticks);
        out.own.user_ns = static_cast<std::uint64_t>(static_cast<double>(total) * user);
        out.own.system_ns = total - out.own.user_ns;
    }
    return out;
}

// Of those that have not ended. `pids`: parents before their children, so that one which ends
// between two of these readings, and is its parent's then, is not read twice. It may be missed:
// then all are read again.
std::vector<process_reading> readings_of(std::vector<pid_t> pids) {
    constexpr int most_tries = 5;
    std::vector<process_reading> out;
    for (int tries = 0; tries < most_tries; ++tries) {
        out.clear();
        for (const pid_t pid : pids) {
            if (const auto one = reading_of(pid)) out.push_back(*one);
        }
        if (out.size() == pids.size()) break;
        pids.clear();
        for (const process_reading& r : out) pids.push_back(r.pid);
    }
    return out;
}

// Of the whole host: sockets, their files and their places in epoll, but no page of a buffer.
std::optional<std::uint64_t> unreclaimable_slabs() {
    const auto kib = field(read_file("/proc/meminfo").value_or(""), "SUnreclaim:");
    return kib ? std::optional(*kib * 1024) : std::nullopt;
}

}  // namespace

process_watch::process_watch() : times_(tick_ns()) {}

std::variant<process_watch, std::string> process_watch::open(const std::string& what) {
    process_watch watch;
    watch.slabs_at_open_ = unreclaimable_slabs();
    if (!what.empty() && what.find_first_not_of("0123456789") == std::string::npos) {
        const auto [end, failure] =
            std::from_chars(what.data(), what.data() + what.size(), watch.root_);
        if (failure != std::errc() || stat_fields(watch.root_).empty()) {
            return fmt::format(
                "--watch {}: there is no such process; give the id of the running server", what);
        }
        return watch;
    }
    // Of v1 a folder has these files as well, without the time in cpu.stat.
    if (!read_file(what + "/cgroup.procs") ||
        !field(read_file(what + "/cpu.stat").value_or(""), "usage_usec")) {
        return fmt::format(
            "--watch {}: not a process id, and not a cgroup v2 folder (which has cgroup.procs, and "
            "usage_usec in cpu.stat)",
            what);
    }
    watch.cgroup_ = what;
    return watch;
}

std::vector<pid_t> process_watch::processes() const {
    if (cgroup_.empty()) return tree_of(root_);
    std::vector<pid_t> out;
    processes_in(cgroup_, out);
    return out;
}

void process_watch::read_left() {
    const std::vector<process_reading> left = readings_of(known_);
    times_.read(left);
    known_.clear();
    for (const process_reading& r : left) {
        if (times_.knows(r)) known_.push_back(r.pid);
    }
}

cpu_time process_watch::read_cgroup() const {
    const std::string text = read_file(cgroup_ + "/cpu.stat").value_or("");
    return {field(text, "user_usec").value_or(0) * 1000,
            field(text, "system_usec").value_or(0) * 1000};
}

std::uint64_t process_watch::resident_bytes() const {
    static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    std::uint64_t total = 0;
    for (const pid_t pid : known_) {
        const auto pages = numbers(read_file(fmt::format("/proc/{}/statm", pid)).value_or(""));
        if (pages.size() > 1) total += pages[1] * page;
    }
    return total;
}

void process_watch::read_kernel_memory(server_usage& out) const {
    if (const auto now = unreclaimable_slabs(); now && slabs_at_open_) {
        out.host_kernel_growth_bytes =
            static_cast<std::int64_t>(*now) - static_cast<std::int64_t>(*slabs_at_open_);
    }
    if (cgroup_.empty()) return;
    const std::string text = read_file(cgroup_ + "/memory.stat").value_or("");
    auto own = field(text, "kernel ");
    if (!own) own = field(text, "slab ");  // before Linux 5.18
    const auto sockets = field(text, "sock ");
    if (own && sockets) out.kernel_bytes = *own + *sockets;
}

void process_watch::find() {
    known_ = processes();
    quota_ = cgroup_.empty() ? cpu_quota::of_process(std::to_string(root_))
                             : cpu_quota::of_folder(cgroup_);
}

void process_watch::begin() {
    if (cgroup_.empty()) {
        times_.begin(readings_of(known_));
    } else {
        cgroup_at_begin_ = read_cgroup();
    }
    peak_ = resident_bytes();
    quota_.begin();
}

void process_watch::sample() {
    // All processes of the host would have to be looked through for those that have come since.
    if (cgroup_.empty()) read_left();
    else known_ = processes();
    peak_ = std::max(peak_, resident_bytes());
}

std::uint64_t process_watch::wake_ups() const {
    std::uint64_t total = 0;
    for (const pid_t pid : known_) {
        const std::string threads = fmt::format("/proc/{}/task", pid);
        DIR* const folder = opendir(threads.c_str());
        if (folder == nullptr) continue;  // it ended meanwhile
        while (const dirent* entry = readdir(folder)) {
            if (entry->d_name[0] == '.') continue;  // ".." leads to the main thread once more
            const auto status = read_file(fmt::format("{}/{}/status", threads, entry->d_name));
            total += field(status.value_or(""), "voluntary_ctxt_switches:").value_or(0);
        }
        closedir(folder);
    }
    return total;
}

server_usage process_watch::end() {
    server_usage out;
    cpu_time used;
    // CPU first: the figures of the window, before our own look-ups.
    if (cgroup_.empty()) {
        read_left();
        known_ = processes();
        std::vector<pid_t> newer;
        std::copy_if(known_.begin(), known_.end(), std::back_inserter(newer),
                     [&](pid_t pid) { return !times_.knows(pid); });
        times_.add(readings_of(newer));
        used = times_.used();
    } else {
        const cpu_time now = read_cgroup();
        // A cgroup whose server has ended may be gone, and then reads as 0.
        used = {now.user_ns - std::min(now.user_ns, cgroup_at_begin_.user_ns),
                now.system_ns - std::min(now.system_ns, cgroup_at_begin_.system_ns)};
        known_ = processes();
    }
    out.cpu_user_ns = used.user_ns;
    out.cpu_system_ns = used.system_ns;
    out.quota = quota_.end();
    out.rss_bytes = resident_bytes();
    out.rss_peak_bytes = std::max(peak_, out.rss_bytes);
    read_kernel_memory(out);
    std::uint64_t proportional = 0;
    bool known = false;
    for (const pid_t pid : known_) {
        const auto rollup = read_file(fmt::format("/proc/{}/smaps_rollup", pid));
        const auto pss = field(rollup.value_or(""), "Pss:");
        if (pss) proportional += *pss * 1024;
        known = known || pss.has_value();
        if (!stat_fields(pid).empty()) ++out.processes;
    }
    if (known) out.pss_bytes = proportional;
    return out;
}

}  // namespace wireload
