// The limits of the host: chooses epoll or io_uring for the load, and says why neither can hold it.
// Where both can, io_uring is taken if it is known to cost less
// (wire/docs/decisions/011-io-uring.md).
//
// A process may open so many files (RLIMIT_NOFILE), and every connection is one, unless io_uring
// keeps it in a table of its own. Such a table holds as many as the process may open files, but
// each thread has one: N threads hold N times as many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plan/destination.hpp"
#include "plan/options.hpp"
#include "wire/loop/event_loop.hpp"

namespace wireload {

// Limits of this host. read() finds them; tests make their own.
struct host_limits {
    std::uint64_t files = 0;   // that this process may open
    std::uint64_t memory = 0;  // bytes available; 0: not known
    // Bytes that memory limits of cgroups leave to this process; absent: there is no limit.
    std::optional<std::uint64_t> group_memory;
    std::string io_uring_problem;  // why there is none; empty: there is

    // Raises the soft limit of open files to the hard one. io_uring is tried only if
    // `try_io_uring`.
    static host_limits read(bool try_io_uring);
};

// By the files of this process's cgroups and those above, v2 or v1: what each may have less what it
// has and the kernel cannot take back; of several the least. Tests put /proc and /sys below `root`.
std::optional<std::uint64_t> memory_left_by_cgroups(const std::string& root = {});

struct engine_plan {
    wire::loop_engine engine = wire::loop_engine::epoll;
    std::uint32_t threads = 1;  // at least as many as were asked for
    std::string why;            // for the report; empty: it was asked for, or is the usual one
};

// The string says which limit of the host is in the way, and what raises it.
std::variant<engine_plan, std::string> choose_engine(const options& asked,
                                                     const std::vector<destination>& to,
                                                     const host_limits& host);
// Whether choose_engine() may come to take io_uring.
bool may_take_io_uring(const options& asked, std::uint64_t files);

std::string_view name_of(wire::loop_engine engine);

}  // namespace wireload
