#include "measure/cpu_quota.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

namespace wireload {
namespace {

struct group {
    bool v2 = false;
    std::string path;  // from the hierarchy's root, as this process sees it
};

// In which groups of hierarchies that may have quotas the process is: lines of
// "number:controllers:path" (cgroups(7)); the path may have colons too.
std::vector<group> groups_of(const std::string& file) {
    std::vector<group> out;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        const std::size_t first = line.find(':');
        if (first == std::string::npos) continue;
        const std::size_t second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const bool v2 = controllers.empty();
        if (v2 || ("," + controllers + ",").find(",cpu,") != std::string::npos)
            out.push_back({v2, line.substr(second + 1)});
    }
    return out;
}

struct cgroup_mount {
    bool v2 = false;
    std::string root;   // the group that it shows
    std::string point;  // where
};

// proc(5): a space is written \040, and a tabulator, a line's end and a backslash likewise.
std::string unescaped(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
        if (text.size() >= 4 && text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) &&
            is_octal(text[3])) {
            out += static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text.remove_prefix(4);
        } else {
            out += text.front();
            text.remove_prefix(1);
        }
    }
    return out;
}

// Lines of "id parent device root point options [more...] - type source options" (proc(5)).
std::vector<cgroup_mount> mounts_in(const std::string& file) {
    std::vector<cgroup_mount> out;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        const std::size_t dash = line.find(" - ");
        if (dash == std::string::npos) continue;
        std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
        std::string id, parent, device, root, point, type, source, controllers;
        if (!(before >> id >> parent >> device >> root >> point) || !(after >> type)) continue;
        after >> source >> controllers;
        const bool v2 = type == "cgroup2";
        const bool v1 =
            type == "cgroup" && ("," + controllers + ",").find(",cpu,") != std::string::npos;
        if (v1 || v2) out.push_back({v2, unescaped(root), unescaped(point)});
    }
    return out;
}

// The path of a group below the one that a mount shows, such as "" or "/a/b"; absent when the mount
// does not show it. A path that leads up ("/..") is of a group outside of this cgroup namespace.
std::optional<std::string> below(const std::string& path, const std::string& root) {
    if (!path.starts_with("/") || (path + "/").find("/../") != std::string::npos)
        return std::nullopt;
    if (root == "/") return path == "/" ? std::string() : path;
    if (path == root) return std::string();
    if (path.starts_with(root + "/")) return path.substr(root.size());
    return std::nullopt;
}

}  // namespace

void quota_use::add(const quota_use& later) {
    cpus = later.cpus;
    window += later.window;
    if (!later.stopped) return;
    if (!stopped) stopped.emplace();
    stopped->periods += later.stopped->periods;
    stopped->time += later.stopped->time;
}

cpu_quota cpu_quota::of_process(const std::string& process, const std::string& root) {
    cpu_quota out;
    const std::vector<cgroup_mount> mounts = mounts_in(root + "/proc/self/mountinfo");
    for (const group& g : groups_of(root + "/proc/" + process + "/cgroup")) {
        // Of several mounts the one that shows most groups above.
        const cgroup_mount* best = nullptr;
        for (const cgroup_mount& m : mounts) {
            if (m.v2 == g.v2 && below(g.path, m.root) &&
                (best == nullptr || m.root.size() < best->root.size()))
                best = &m;
        }
        if (best == nullptr) continue;
        std::string path = *below(g.path, best->root);
        while (true) {
            out.levels_.push_back({root + best->point + path, g.v2, {}});
            if (path.empty()) break;
            path.resize(path.find_last_of('/'));
        }
    }
    return out;
}

cpu_quota cpu_quota::of_folder(const std::string& folder) {
    namespace fs = std::filesystem;
    cpu_quota out;
    std::error_code failed;
    for (fs::path at = fs::canonical(folder, failed);
         !failed && fs::exists(at / "cgroup.procs", failed); at = at.parent_path())
        out.levels_.push_back({at.string(), true, {}});
    return out;
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
    return quota_use::stops{*periods, static_cast<nanos>(*time)};
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
                                     now->time - at.at_begin->time};
        if (!out.stopped || grown.time > out.stopped->time ||
            (grown.time == out.stopped->time && grown.periods > out.stopped->periods))
            out.stopped = grown;
    }
    out.cpus = cpus();
    return out;
}

}  // namespace wireload
