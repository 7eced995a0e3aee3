#include "measure/cgroup_folders.hpp"

#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>

namespace wireload {
namespace {

struct group {
    bool v2 = false;
    std::string path;  // from the hierarchy's root, as this process sees it
};

// Whether the list, separated by commas, has the name.
bool names(const std::string& list, std::string_view name) {
    return fmt::format(",{},", list).find(fmt::format(",{},", name)) != std::string::npos;
}

// In which groups of those hierarchies the process is: lines of
// "number:controllers:path" (cgroups(7)); the path may have colons too.
std::vector<group> groups_of(std::string_view controller, const std::string& file) {
    std::vector<group> out;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        const std::size_t first = line.find(':');
        if (first == std::string::npos) continue;
        const std::size_t second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const bool v2 = controllers.empty();
        if (v2 || names(controllers, controller)) out.push_back({v2, line.substr(second + 1)});
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
std::vector<cgroup_mount> mounts_in(std::string_view controller, const std::string& file) {
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
        const bool v1 = type == "cgroup" && names(controllers, controller);
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

std::vector<cgroup_folder> cgroup_folders(std::string_view controller, const std::string& process,
                                          const std::string& root) {
    std::vector<cgroup_folder> out;
    const std::vector<cgroup_mount> mounts = mounts_in(controller, root + "/proc/self/mountinfo");
    for (const group& g : groups_of(controller, root + "/proc/" + process + "/cgroup")) {
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
            out.push_back({root + best->point + path, g.v2});
            if (path.empty()) break;
            path.resize(path.find_last_of('/'));
        }
    }
    return out;
}

}  // namespace wireload
