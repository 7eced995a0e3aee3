#include "plan/host_limits.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace wireload::host_limits_test {

const wire::address here = *wire::address::parse("127.0.0.1", 80);
const wire::address there = *wire::address::parse("192.0.2.1", 80);

options asking(std::uint32_t connections, engine_choice engine = engine_choice::automatic) {
    options out;
    out.connections = connections;
    out.engine = engine;
    out.threads = 2;
    return out;
}
host_limits host(std::uint64_t files = 20'000, std::string problem = {}, std::uint64_t memory = 0) {
    host_limits out;
    out.files = files;
    out.memory = memory;
    out.io_uring_problem = std::move(problem);
    return out;
}
std::variant<engine_plan, std::string> choose(const options& asked, const wire::address& server,
                                              const host_limits& limits) {
    return choose_engine(asked, {{server, asked.connections}}, limits);
}
std::string show(const std::variant<engine_plan, std::string>& chosen) {
    if (const auto* problem = std::get_if<std::string>(&chosen)) return *problem;
    const auto& p = std::get<engine_plan>(chosen);
    return std::string(name_of(p.engine)) + " " + std::to_string(p.threads);
}
std::string why(const std::variant<engine_plan, std::string>& chosen) {
    return std::get<engine_plan>(chosen).why;
}

TEST(engine, epoll_up_to_the_limit_of_files_and_io_uring_beyond) {
    const auto idle = [](std::uint32_t connections) {
        options out = asking(connections);
        out.idle = true;
        return out;
    };
    EXPECT_EQ(show(choose(idle(19'960), here, host())), "epoll 2");
    EXPECT_EQ(why(choose(idle(19'960), here, host())), "");
    EXPECT_EQ(show(choose(idle(19'961), here, host())), "io_uring 2");
    EXPECT_EQ(why(choose(idle(19'961), here, host())).substr(0, 45),
              "more connections than this process may open f");
    EXPECT_EQ(show(choose(idle(40'000), here, host())), "io_uring 2");
    EXPECT_EQ(show(choose(idle(40'001), here, host())), "io_uring 3");
    EXPECT_EQ(show(choose(idle(200'000), here, host())), "io_uring 10");
}
TEST(engine, io_uring_where_it_costs_less) {
    options asked = asking(64);  // on each of two threads
    EXPECT_EQ(show(choose(asked, here, host())), "io_uring 2");
    EXPECT_EQ(why(choose(asked, here, host())), "costs less from 32 connections a thread on");
    EXPECT_TRUE(may_take_io_uring(asked, 20'000));
    EXPECT_EQ(show(choose(asked, here, host(20'000, "forbidden"))), "epoll 2");
    EXPECT_EQ(why(choose(asked, here, host(20'000, "forbidden"))),
              "io_uring, which costs less here, is not available: forbidden");
    EXPECT_EQ(show(choose(asking(63), here, host())), "epoll 2");
    EXPECT_EQ(show(choose(asking(10'000), here, host())), "io_uring 2");
    asked.in_flight = 16;
    asked.keep_alive = false;
    asked.turns.emplace();
    EXPECT_EQ(show(choose(asked, here, host())), "io_uring 2");
    const auto epoll = [](auto change) {
        options changed = asking(64);
        change(changed);
        EXPECT_EQ(show(choose(changed, here, host())), "epoll 2");
        EXPECT_FALSE(may_take_io_uring(changed, 20'000));
    };
    epoll([](options& o) { o.open_loop.emplace(); });
    epoll([](options& o) { o.ramp.emplace(); });
    epoll([](options& o) { o.idle = true; });
    epoll([](options& o) { o.broadcast = true; });
    epoll([](options& o) { o.engine = engine_choice::epoll; });
}
TEST(engine, as_asked) {
    EXPECT_EQ(show(choose(asking(10, engine_choice::io_uring), here, host())), "io_uring 2");
    EXPECT_EQ(show(choose(asking(10, engine_choice::epoll), here, host(20'000, "forbidden"))),
              "epoll 2");
    EXPECT_EQ(show(choose(asking(20'000, engine_choice::epoll), here, host())),
              "20000 connections need 20040 open files and this process may have 20000. Give at "
              "most 19960 with -c, leave out --engine epoll "
              "(io_uring needs no files), or raise the limit: ulimit -n 20040 (as root, or in "
              "/etc/security/limits.conf)");
}
TEST(engine, what_is_in_the_way_is_named) {
    EXPECT_EQ(show(choose(asking(30'000), here, host(20'000, "sysctl says no"))),
              "30000 connections need 30040 open files and this process may have 20000, and "
              "io_uring, which needs none, is not available: sysctl "
              "says no. Give at most 19960 with -c, allow io_uring, or raise the limit: ulimit -n "
              "30040 (as root, or in /etc/security/limits.conf)");
    EXPECT_EQ(
        show(choose(asking(10, engine_choice::io_uring), here, host(20'000, "sysctl says no"))),
        "--engine io_uring: sysctl says no. Allow it, or leave --engine out: epoll serves up "
        "to 19960 connections here");
    EXPECT_EQ(show(choose(asking(200'000), here, host(20'000, "", 512 << 20))),
              "200000 connections need some 1401 MiB of memory, mostly the kernel's for sockets, "
              "those of the server on this host among them, and "
              "512 MiB are available. Give at most 73043 with -c");
    EXPECT_EQ(show(choose(asking(100'000), there, host(20'000, "", 512 << 20))), "io_uring 5");
    EXPECT_NE(show(choose(asking(100'000), here, host(64))).find("tables of 64 files"),
              std::string::npos);
}
TEST(engine, a_ramp_is_told_of_its_own_options) {
    options ramp = asking(30'000);
    ramp.ramp.emplace();
    EXPECT_NE(show(choose(ramp, here, host(20'000, "sysctl says no")))
                  .find("Give at most 19960 with --ramp-rounds x --ramp-add, allow io_uring"),
              std::string::npos);
    EXPECT_NE(show(choose(ramp, here, host(20'000, "", 64 << 20)))
                  .find("with --ramp-rounds x --ramp-add"),
              std::string::npos);
}
// 385 MB for ours, and 105 or 175 MB for the servers' on this host.
TEST(engine, only_servers_on_this_host_take_memory_here) {
    const options asked = asking(100'000);
    const host_limits limits = host(20'000, "", 512 << 20);
    EXPECT_EQ(show(choose_engine(asked, {{there, 70'000}, {here, 30'000}}, limits)), "io_uring 5");
    EXPECT_NE(show(choose_engine(asked, {{there, 50'000}, {here, 50'000}}, limits))
                  .find("need some 534 MiB"),
              std::string::npos);
}
TEST(engine, what_a_memory_limit_leaves_is_for_our_own_sockets) {
    host_limits limits = host(20'000, "", std::uint64_t{64} << 30);
    limits.group_memory = 40'000'000;
    EXPECT_EQ(show(choose(asking(10'000), here, limits)), "io_uring 2");
    EXPECT_EQ(show(choose(asking(15'000), here, limits)),
              "15000 connections need some 55 MiB of memory, mostly the kernel's for sockets, and "
              "the memory limit of this cgroup (a container, a service) leaves 38 MiB. Give at "
              "most 10389 with -c, or raise the limit (memory.max)");
    limits.group_memory = 0;
    EXPECT_NE(show(choose(asking(1), there, limits)).find("Give at most 0 with -c"),
              std::string::npos);
}

TEST(memory, what_cgroups_leave_is_the_least_of_those_above) {
    namespace fs = std::filesystem;
    std::string root = (fs::temp_directory_path() / "memory-XXXXXX").string();
    ASSERT_NE(mkdtemp(root.data()), nullptr);
    const auto put = [&](const std::string& file, const std::string& text) {
        fs::create_directories(fs::path(root + "/" + file).parent_path());
        std::ofstream(root + "/" + file) << text;
    };
    EXPECT_EQ(memory_left_by_cgroups(root), std::nullopt);
    put("proc/self/mountinfo",
        "31 23 0:28 / /cg rw - cgroup2 cgroup2 rw\n"
        "32 23 0:29 / /v1 rw - cgroup cgroup rw,memory\n");
    put("proc/self/cgroup", "0::/a/b\n");
    put("cg/a/b/memory.max", "max\n");
    put("cg/a/b/memory.current", "600\n");
    EXPECT_EQ(memory_left_by_cgroups(root), std::nullopt);
    put("cg/a/memory.max", "1000\n");
    put("cg/a/memory.current", "900\n");
    EXPECT_EQ(memory_left_by_cgroups(root), 100U);
    put("cg/a/memory.stat", "anon 500\nfile 350\ninactive_file 250\nactive_file 50\n");
    EXPECT_EQ(memory_left_by_cgroups(root), 400U);
    put("cg/a/memory.stat",
        "anon 500\nfile 350\ninactive_file 250\nactive_file 50\n"
        "slab_reclaimable 70\nslab_unreclaimable 20\n");
    EXPECT_EQ(memory_left_by_cgroups(root), 470U);
    put("cg/a/b/memory.max", "500\n");
    EXPECT_EQ(memory_left_by_cgroups(root), 0U) << "it has more than it may";
    put("cg/a/b/memory.current", "nonsense\n");
    EXPECT_EQ(memory_left_by_cgroups(root), 470U);

    put("proc/self/cgroup", "7:memory:/c\n0::/\n");
    put("v1/c/memory.limit_in_bytes", "9223372036854771712\n");
    put("v1/c/memory.usage_in_bytes", "700\n");
    EXPECT_EQ(memory_left_by_cgroups(root), std::nullopt);
    put("v1/c/memory.limit_in_bytes", "2000\n");
    put("v1/c/memory.stat", "inactive_file 1\ntotal_inactive_file 60\ntotal_active_file 40\n");
    EXPECT_EQ(memory_left_by_cgroups(root), 1400U);
    fs::remove_all(root);
}

TEST(engine, the_host_is_asked) {
    const host_limits found = host_limits::read(false);
    EXPECT_GT(found.files, 0U);
    EXPECT_GT(found.memory, 0U);
    EXPECT_TRUE(may_take_io_uring(asking(1, engine_choice::io_uring), found.files));
    EXPECT_FALSE(may_take_io_uring(asking(1'000'000, engine_choice::epoll), 1000));
    EXPECT_TRUE(may_take_io_uring(asking(1000), 1000));
    EXPECT_FALSE(may_take_io_uring(asking(10), 1000));
}

}  // namespace wireload::host_limits_test
