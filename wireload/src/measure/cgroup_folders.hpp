// Where the cgroups of a process are: the own one and all above it that can be seen. From inside a
// container, groups above its own are most often not seen.
//
// /proc/PID/cgroup says which group of each hierarchy a process is in (cgroups(7)), and
// /proc/self/mountinfo where the hierarchies are mounted (proc(5)). What is absent or makes no
// sense gives no folders; the function never fails.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wireload {

struct cgroup_folder {
    std::string path;
    bool v2 = false;
};

// Of cgroup v2, and of the hierarchy that v1 has for `controller`, such as "cpu"; of each the
// innermost first. `process`: its id, or "self". Tests put /proc and /sys below `root`.
std::vector<cgroup_folder> cgroup_folders(std::string_view controller, const std::string& process,
                                          const std::string& root = {});

}  // namespace wireload
