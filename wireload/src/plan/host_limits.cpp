#include "plan/host_limits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "measure/cgroup_folders.hpp"

namespace wireload {
namespace {

// Descriptors that are not connections: standard streams, and for each thread a loop; a few to
// spare.
std::uint64_t other_files(std::uint32_t threads) { return 32 + 4 * std::uint64_t{threads}; }

std::uint64_t most_with_epoll(const options& asked, std::uint64_t files) {
    return files > other_files(asked.threads) ? files - other_files(asked.threads) : 0;
}

// Connections of a thread in a closed loop from which on io_uring saves more by its few calls than
// it costs, measured on Linux 6.18.
constexpr std::uint32_t least_for_io_uring = 32;

bool costs_less_with_io_uring(const options& asked) {
    const bool closed_loop = !asked.open_loop && !asked.ramp && !asked.idle && !asked.broadcast;
    return closed_loop && asked.connections / asked.threads >= least_for_io_uring;
}

// Kernel memory of an established socket with empty buffers, measured on Linux 6.18: 3.4 KiB; what
// receives and sends for it is extra.
constexpr std::uint64_t socket_bytes = 3'500;
// Ours, with its place in all tables.
constexpr std::uint64_t connection_bytes = 350;

std::uint64_t available_memory() {
    std::ifstream in("/proc/meminfo");
    std::string name, unit;
    for (std::uint64_t kib = 0; in >> name >> kib; std::getline(in, unit)) {
        if (name == "MemAvailable:") return kib * 1024;
    }
    return 0;
}

// Connections, by the options that say how many there are.
std::string give_at_most(const options& asked, std::uint64_t most) {
    return fmt::format("Give at most {} with {}", most,
                       asked.ramp ? "--ramp-rounds x --ramp-add" : "-c");
}

// The same, where all connections that are asked for would take `need` bytes.
std::string most_with(std::uint64_t available, std::uint64_t need, const options& asked) {
    const double share = static_cast<double>(available) / static_cast<double>(need);
    const double most = std::floor(share * static_cast<double>(asked.connections));
    return give_at_most(asked, static_cast<std::uint64_t>(most));
}

std::string memory_problem(const options& asked, const std::vector<destination>& to,
                           const host_limits& host) {
    // Sockets of a server on this host are in a cgroup that need not be ours.
    std::uint64_t theirs = 0;
    for (const destination& d : to) {
        if (is_loopback(d.server)) theirs += d.connections * socket_bytes;
    }
    const std::uint64_t ours = asked.connections * (socket_bytes + connection_bytes);
    if (host.group_memory && ours > *host.group_memory) {
        return fmt::format(
            "{} connections need some {} MiB of memory, mostly the kernel's for sockets, and the "
            "memory limit of this cgroup (a container, a service) leaves {} MiB. {}, or raise the "
            "limit (memory.max)",
            asked.connections, ours >> 20, *host.group_memory >> 20,
            most_with(*host.group_memory, ours, asked));
    }
    if (host.memory == 0 || ours + theirs <= host.memory) return {};
    return fmt::format(
        "{} connections need some {} MiB of memory, mostly the kernel's for sockets{}, and {} MiB "
        "are available. {}",
        asked.connections, (ours + theirs) >> 20,
        theirs != 0 ? ", those of the server on this host among them" : "", host.memory >> 20,
        most_with(host.memory, ours + theirs, asked));
}

std::optional<std::uint64_t> number_in(const std::string& file) {
    std::ifstream in(file);
    std::uint64_t value = 0;
    return in >> value ? std::optional(value) : std::nullopt;
}

// Pages of files and of caches, which the kernel takes back before it ends a process.
std::uint64_t reclaimable(const cgroup_folder& f) {
    std::uint64_t sum = 0, value = 0;
    std::ifstream in(f.path + "/memory.stat");
    for (std::string name; in >> name >> value;) {
        // In v1 the names without "total_" leave out the groups below.
        if (name == (f.v2 ? "inactive_file" : "total_inactive_file") ||
            name == (f.v2 ? "active_file" : "total_active_file") || name == "slab_reclaimable")
            sum += value;
    }
    return sum;
}

}  // namespace

std::optional<std::uint64_t> memory_left_by_cgroups(const std::string& root) {
    // What v1 has for no limit is the largest multiple of a page in 63 bits.
    constexpr std::uint64_t no_limit = std::uint64_t{1} << 62;
    std::optional<std::uint64_t> least;
    for (const cgroup_folder& f : cgroup_folders("memory", "self", root)) {
        const auto limit = number_in(f.path + (f.v2 ? "/memory.max" : "/memory.limit_in_bytes"));
        const auto used = number_in(f.path + (f.v2 ? "/memory.current" : "/memory.usage_in_bytes"));
        if (!limit || !used || *limit >= no_limit) continue;
        const std::uint64_t kept = *used - std::min(*used, reclaimable(f));
        const std::uint64_t left = *limit - std::min(*limit, kept);
        least = std::min(least.value_or(left), left);
    }
    return least;
}

host_limits host_limits::read(bool try_io_uring) {
    host_limits out;
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
        getrlimit(RLIMIT_NOFILE, &files);
        out.files = files.rlim_cur;
    }
    out.memory = available_memory();
    out.group_memory = memory_left_by_cgroups();
    if (try_io_uring) {
        wire::loop_options options;
        options.engine = wire::loop_engine::io_uring;
        options.max_streams = 16;
        if (const auto loop = wire::event_loop::create(options); !loop)
            out.io_uring_problem = loop.error().message;
    }
    return out;
}

bool may_take_io_uring(const options& asked, std::uint64_t files) {
    return asked.engine == engine_choice::io_uring ||
           (asked.engine == engine_choice::automatic &&
            (asked.connections > most_with_epoll(asked, files) || costs_less_with_io_uring(asked)));
}

std::variant<engine_plan, std::string> choose_engine(const options& asked,
                                                     const std::vector<destination>& to,
                                                     const host_limits& host) {
    if (std::string problem = memory_problem(asked, to, host); !problem.empty()) return problem;
    const std::uint64_t most = most_with_epoll(asked, host.files);
    const std::string need =
        fmt::format("{} connections need {} open files and this process may have {}",
                    asked.connections, asked.connections + other_files(asked.threads), host.files);
    const std::string raise =
        fmt::format("raise the limit: ulimit -n {} (as root, or in /etc/security/limits.conf)",
                    asked.connections + other_files(asked.threads));
    engine_plan out;
    out.threads = asked.threads;
    const bool automatic = asked.engine == engine_choice::automatic;
    const bool cheaper = automatic && asked.connections <= most && costs_less_with_io_uring(asked);
    if (asked.engine == engine_choice::epoll || (automatic && asked.connections <= most)) {
        if (asked.connections > most)
            return fmt::format("{}. {}, leave out --engine epoll (io_uring needs no files), or {}",
                               need, give_at_most(asked, most), raise);
        if (!cheaper) return out;
        if (!host.io_uring_problem.empty()) {
            out.why = "io_uring, which costs less here, is not available: " + host.io_uring_problem;
            return out;
        }
    }
    if (!host.io_uring_problem.empty()) {
        if (asked.engine == engine_choice::io_uring) {
            return fmt::format(
                "--engine io_uring: {}. Allow it, or leave --engine out: epoll serves up to {} "
                "connections here",
                host.io_uring_problem, most);
        }
        return fmt::format(
            "{}, and io_uring, which needs none, is not available: {}. {}, allow io_uring, or {}",
            need, host.io_uring_problem, give_at_most(asked, most), raise);
    }
    if (host.files < 16)
        return fmt::format("this process may open {} files; raise the limit: ulimit -n 1024",
                           host.files);
    const auto tables = (asked.connections + host.files - 1) / host.files;
    // Each thread has its ring, an eventfd, and a moment's descriptor for a socket that is being
    // opened.
    if (other_files(static_cast<std::uint32_t>(std::min<std::uint64_t>(tables, UINT32_MAX))) >
        host.files) {
        return fmt::format(
            "{} connections need {} tables of {} files, more than there may be files; {}",
            asked.connections, tables, host.files, raise);
    }
    out.engine = wire::loop_engine::io_uring;
    out.threads = std::max(asked.threads, static_cast<std::uint32_t>(tables));
    if (cheaper)
        out.why = fmt::format("costs less from {} connections a thread on", least_for_io_uring);
    else if (automatic)
        out.why =
            "more connections than this process may open files; each thread holds a table of them";
    return out;
}

std::string_view name_of(wire::loop_engine engine) {
    return engine == wire::loop_engine::io_uring ? "io_uring" : "epoll";
}

}  // namespace wireload
