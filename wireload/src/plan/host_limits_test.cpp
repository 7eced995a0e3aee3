#include "plan/host_limits.hpp"

#include <gtest/gtest.h>

namespace wireload::host_limits_test {

const wire::address local = *wire::address::parse("127.0.0.1", 80);

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
std::string show(const std::variant<engine_plan, std::string>& chosen) {
    if (const auto* problem = std::get_if<std::string>(&chosen)) return *problem;
    const auto& p = std::get<engine_plan>(chosen);
    return std::string(name_of(p.engine)) + " " + std::to_string(p.threads);
}

TEST(engine, epoll_up_to_the_limit_of_files_and_io_uring_beyond) {
    EXPECT_EQ(show(choose_engine(asking(19'960), local, host())), "epoll 2");
    EXPECT_EQ(show(choose_engine(asking(19'961), local, host())), "io_uring 2");
    EXPECT_EQ(show(choose_engine(asking(40'000), local, host())), "io_uring 2");
    EXPECT_EQ(show(choose_engine(asking(40'001), local, host())), "io_uring 3");
    EXPECT_EQ(show(choose_engine(asking(200'000), local, host())), "io_uring 10");
}
TEST(engine, as_asked) {
    EXPECT_EQ(show(choose_engine(asking(10, engine_choice::io_uring), local, host())),
              "io_uring 2");
    EXPECT_EQ(
        show(choose_engine(asking(10, engine_choice::epoll), local, host(20'000, "forbidden"))),
        "epoll 2");
    EXPECT_EQ(show(choose_engine(asking(20'000, engine_choice::epoll), local, host())),
              "20000 connections need 20040 open files and this process may have 20000. Give at "
              "most 19960 with -c, leave out --engine epoll "
              "(io_uring needs no files), or raise the limit: ulimit -n 20040 (as root, or in "
              "/etc/security/limits.conf)");
}
TEST(engine, what_is_in_the_way_is_named) {
    EXPECT_EQ(show(choose_engine(asking(30'000), local, host(20'000, "sysctl says no"))),
              "30000 connections need 30040 open files and this process may have 20000, and "
              "io_uring, which needs none, is not available: sysctl "
              "says no. Give at most 19960 with -c, allow io_uring, or raise the limit: ulimit -n "
              "30040 (as root, or in /etc/security/limits.conf)");
    EXPECT_EQ(show(choose_engine(asking(10, engine_choice::io_uring), local,
                                 host(20'000, "sysctl says no"))),
              "--engine io_uring: sysctl says no. Allow it, or leave --engine out: epoll serves up "
              "to 19960 connections here");
    EXPECT_EQ(show(choose_engine(asking(200'000), local, host(20'000, "", 512 << 20))),
              "200000 connections need some 1401 MiB of memory, mostly the kernel's for sockets, "
              "those of the server on this host among them, and "
              "512 MiB are available. Give at most 73043 with -c");
    const auto far = *wire::address::parse("192.0.2.1", 80);
    EXPECT_EQ(show(choose_engine(asking(100'000), far, host(20'000, "", 512 << 20))), "io_uring 5");
    EXPECT_NE(show(choose_engine(asking(100'000), local, host(64))).find("tables of 64 files"),
              std::string::npos);
}
TEST(engine, the_host_is_asked) {
    const host_limits here = host_limits::read(false);
    EXPECT_GT(here.files, 0U);
    EXPECT_GT(here.memory, 0U);
    EXPECT_TRUE(may_need_io_uring(asking(1, engine_choice::io_uring), here.files));
    EXPECT_FALSE(may_need_io_uring(asking(1'000'000, engine_choice::epoll), 1000));
    EXPECT_TRUE(may_need_io_uring(asking(1000), 1000));
    EXPECT_FALSE(may_need_io_uring(asking(10), 1000));
}

}  // namespace wireload::host_limits_test
