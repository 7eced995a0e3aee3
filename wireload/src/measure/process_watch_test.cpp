#include "measure/process_watch.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace wireload::process_watch_test {

std::uint64_t own_cpu_ns() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(t.tv_nsec);
}

void burn(std::uint64_t ns) {
    const std::uint64_t end = own_cpu_ns() + ns;
    while (own_cpu_ns() < end) {}
}

// A child that, told by a byte, works in a child of its own, says so, and waits to be ended.
struct family {
    pid_t child = 0;
    int to[2]{}, from[2]{};

    family() {
        if (pipe(to) != 0 || pipe(from) != 0) std::abort();
        child = fork();
        if (child == 0) {
            char byte = 0;
            const pid_t grandchild = fork();
            if (grandchild == 0) {
                if (read(to[0], &byte, 1) != 1) _exit(1);
                burn(30'000'000);
                if (write(from[1], "x", 1) != 1) _exit(1);
                close(to[1]);
                (void)!read(to[0], &byte, 1);
                _exit(0);
            }
            close(to[1]);
            waitpid(grandchild, nullptr, 0);
            _exit(0);
        }
        close(to[0]);
        close(from[1]);
    }
    void work() {
        char byte = 'x';
        ASSERT_EQ(write(to[1], &byte, 1), 1);
        ASSERT_EQ(read(from[0], &byte, 1), 1);
    }
    ~family() {
        close(to[1]);
        close(from[0]);
        waitpid(child, nullptr, 0);
    }
};

// The kernel parts a process's time into user and system by whole ticks since it began, so that
// either may seem to run backwards in a short window; their sum does not.
TEST(ProcessWatch, ShortWindowsAddUpToTheWhole) {
    auto opened = process_watch::open(std::to_string(getpid()));
    ASSERT_TRUE(std::holds_alternative<process_watch>(opened));
    auto& watch = std::get<process_watch>(opened);
    watch.find();
    std::uint64_t sum = 0;
    const std::uint64_t before = own_cpu_ns();
    for (int i = 0; i < 100; ++i) {
        watch.begin();
        if (i % 2 == 0) {
            burn(1'000'000);
        } else {
            const std::uint64_t end = own_cpu_ns() + 1'000'000;
            while (own_cpu_ns() < end) (void)!access("/", F_OK);
        }
        const server_usage used = watch.end();
        sum += used.cpu_user_ns + used.cpu_system_ns;
    }
    const std::uint64_t all = own_cpu_ns() - before;
    EXPECT_LE(sum, all + all / 50);
    EXPECT_GE(sum, 95'000'000U);
}

TEST(ProcessWatch, CountsTheCpuOfDescendantsInTheWindowOnly) {
    family f;
    auto opened = process_watch::open(std::to_string(f.child));
    ASSERT_TRUE(std::holds_alternative<process_watch>(opened));
    auto& watch = std::get<process_watch>(opened);
    watch.find();
    watch.begin();
    f.work();
    watch.sample();
    const server_usage used = watch.end();
    EXPECT_EQ(used.processes, 2U);
    EXPECT_GE(used.cpu_user_ns + used.cpu_system_ns, 29'000'000U);
    EXPECT_GT(used.rss_bytes, 0U);
    EXPECT_GE(used.rss_peak_bytes, used.rss_bytes);
    ASSERT_TRUE(used.pss_bytes.has_value());
    EXPECT_LE(*used.pss_bytes, used.rss_bytes);
    EXPECT_FALSE(used.kernel_bytes.has_value()) << "only a cgroup tells";

    EXPECT_GT(watch.wake_ups(), 0U);

    watch.find();
    watch.begin();  // a second window knows nothing of the first
    const server_usage idle = watch.end();
    EXPECT_LT(idle.cpu_user_ns + idle.cpu_system_ns, 10'000'000U);
}

// A child of this process and a child of that one, which do as they are told by single bytes:
// 'b' works, 'f' has a child of its own do that and end, 'w' waits for a child, 'q' ends, 'n' does
// nothing.
struct puppets {
    struct puppet {
        int to[2]{}, from[2]{};
        void obey() {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            char order = 0;
            while (read(to[0], &order, 1) == 1) {
                if (order == 'q') break;
                if (order == 'b') burn(work);
                if (order == 'f') {
                    const pid_t child = fork();
                    if (child == 0) {
                        burn(work);
                        _exit(0);
                    }
                    waitpid(child, nullptr, 0);
                }
                if (order == 'w') wait(nullptr);
                if (write(from[1], &order, 1) != 1) break;
            }
            _exit(0);
        }
        void tell(char order) {
            ASSERT_EQ(write(to[1], &order, 1), 1);
            if (order == 'q') return;
            ASSERT_EQ(read(from[0], &order, 1), 1);
        }
    };
    static constexpr std::uint64_t work = 60'000'000;

    pid_t child = 0;
    puppet outer, inner;

    explicit puppets(bool ignores_children = false) {
        for (puppet* p : {&outer, &inner}) {
            if (pipe(p->to) != 0 || pipe(p->from) != 0) std::abort();
        }
        child = fork();
        if (child != 0) {
            for (puppet* p : {&outer, &inner}) p->tell('n');  // until both are there
            return;
        }
        if (ignores_children) signal(SIGCHLD, SIG_IGN);
        if (fork() == 0) inner.obey();
        outer.obey();
    }
    void end() {
        if (child == 0) return;
        inner.tell('q');
        outer.tell('q');
        waitpid(child, nullptr, 0);
        child = 0;
    }
    ~puppets() {
        end();
        for (puppet* p : {&outer, &inner}) {
            for (const int fd : {p->to[0], p->to[1], p->from[0], p->from[1]}) close(fd);
        }
    }
};

std::uint64_t total(const server_usage& used) { return used.cpu_user_ns + used.cpu_system_ns; }

// What a parent has of its children comes in whole ticks of 10 ms, of user and of system time.
constexpr std::uint64_t nearly_all = puppets::work - 20'000'000;

TEST(ProcessWatch, CountsTheCpuOfProcessesThatBeginAndEndInTheWindow) {
    puppets p;
    auto opened = process_watch::open(std::to_string(p.child));
    auto& watch = std::get<process_watch>(opened);
    watch.find();
    watch.begin();
    for (int i = 0; i < 3; ++i) p.outer.tell('f');
    EXPECT_GE(total(watch.end()), 2 * puppets::work + nearly_all);
    watch.find();
    watch.begin();
    EXPECT_LT(total(watch.end()), nearly_all) << "a second window knows nothing of the first";
}

TEST(ProcessWatch, CountsTheCpuOfProcessesThatEndInTheWindowAndOnlyFromItsBeginning) {
    puppets p;
    for (int i = 0; i < 5; ++i) p.inner.tell('b');
    auto opened = process_watch::open(std::to_string(p.child));
    auto& watch = std::get<process_watch>(opened);
    watch.find();
    watch.begin();
    p.inner.tell('b');
    p.inner.tell('q');
    p.outer.tell('w');
    const server_usage used = watch.end();
    EXPECT_EQ(used.processes, 1U);
    EXPECT_GE(total(used), nearly_all);
    EXPECT_LT(total(used), 4 * puppets::work);
}

TEST(ProcessWatch, CountsWhatNobodyWaitsForAsItWasSeenLast) {
    puppets p(true);
    auto opened = process_watch::open(std::to_string(p.child));
    auto& watch = std::get<process_watch>(opened);
    watch.find();
    watch.begin();
    p.inner.tell('b');
    watch.sample();
    p.inner.tell('q');
    p.outer.tell('w');  // until it has no children, since it ignores them
    EXPECT_GE(total(watch.end()), puppets::work);
}

TEST(ProcessWatch, CountsAWatchedProcessThatEndsAsItWasSeenLast) {
    puppets p;
    auto opened = process_watch::open(std::to_string(p.child));
    auto& watch = std::get<process_watch>(opened);
    watch.find();
    watch.begin();
    p.outer.tell('b');
    watch.sample();
    p.end();
    const server_usage used = watch.end();
    EXPECT_EQ(used.processes, 0U);
    EXPECT_GE(total(used), puppets::work);
}

// Of the main thread, which is the only one here.
std::uint64_t wake_ups_of(pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    std::uint64_t count = 0;
    for (std::string word; status >> word;) {
        if (word == "voluntary_ctxt_switches:" && status >> count) return count;
    }
    return 0;
}

TEST(ProcessWatch, CountsTheWakeUpsOfAThreadOnce) {
    int to[2]{}, from[2]{};
    ASSERT_EQ(pipe(to), 0);
    ASSERT_EQ(pipe(from), 0);
    const pid_t child = fork();
    if (child == 0) {
        close(to[1]);
        for (int i = 0; i < 10; ++i) usleep(1'000);
        char byte = 'x';
        if (write(from[1], &byte, 1) != 1) _exit(1);
        (void)!read(to[0], &byte, 1);  // until the test is over
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    char byte = 0;
    EXPECT_EQ(read(from[0], &byte, 1), 1);
    auto opened = process_watch::open(std::to_string(child));
    auto* const watch = std::get_if<process_watch>(&opened);
    EXPECT_NE(watch, nullptr);
    if (watch != nullptr) {
        watch->find();
        const std::uint64_t before = wake_ups_of(child);
        const std::uint64_t counted = watch->wake_ups();
        EXPECT_GE(before, 10U);
        EXPECT_GE(counted, before);
        EXPECT_LE(counted, wake_ups_of(child));
    }
    close(to[1]);
    close(from[0]);
    waitpid(child, nullptr, 0);
}

TEST(ProcessWatch, ReadsACgroupFolder) {
    // A folder of that form: the real one needs rights that a test may not have.
    const std::string folder = testing::TempDir() + "wireload_cgroup_test";
    std::filesystem::create_directories(folder + "/inner");
    std::ofstream(folder + "/cgroup.procs") << getpid() << "\n";
    std::ofstream(folder + "/inner/cgroup.procs") << getppid() << "\n";
    std::ofstream(folder + "/cpu.stat") << "usage_usec 30\nuser_usec 10\nsystem_usec 20\n";
    auto opened = process_watch::open(folder);
    ASSERT_TRUE(std::holds_alternative<process_watch>(opened));
    auto& watch = std::get<process_watch>(opened);
    watch.find();
    watch.begin();
    std::ofstream(folder + "/cpu.stat") << "usage_usec 50\nuser_usec 14\nsystem_usec 36\n";
    const server_usage used = watch.end();
    EXPECT_EQ(used.cpu_user_ns, 4'000U);
    EXPECT_EQ(used.cpu_system_ns, 16'000U);
    EXPECT_EQ(used.processes, 2U);
    EXPECT_GT(used.rss_bytes, 0U);
    EXPECT_FALSE(used.kernel_bytes.has_value()) << "no memory.stat: the controller is elsewhere";

    std::ofstream(folder + "/memory.stat")
        << "anon 900\nkernel 5000\nkernel_stack 70\nsock 300\nslab 1200\n";
    EXPECT_EQ(watch.end().kernel_bytes, 5'300U);
    std::ofstream(folder + "/memory.stat") << "anon 900\nkernel_stack 70\nsock 300\nslab 1200\n";
    EXPECT_EQ(watch.end().kernel_bytes, 1'500U) << "before Linux 5.18";
    std::filesystem::remove_all(folder);
    const server_usage gone = watch.end();
    EXPECT_EQ(gone.cpu_user_ns + gone.cpu_system_ns, 0U);
    EXPECT_EQ(gone.processes, 0U);
}

TEST(ProcessWatch, ThePeakHasTheMemoryOfWhatComesIntoACgroupAndLeavesIt) {
    const std::string folder = testing::TempDir() + "wireload_cgroup_peak_test";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/cgroup.procs").flush();
    std::ofstream(folder + "/cpu.stat") << "usage_usec 30\nuser_usec 10\nsystem_usec 20\n";
    auto opened = process_watch::open(folder);
    ASSERT_TRUE(std::holds_alternative<process_watch>(opened));
    auto& watch = std::get<process_watch>(opened);
    watch.find();
    watch.begin();
    std::ofstream(folder + "/cgroup.procs") << getpid() << "\n";
    watch.sample();
    std::ofstream(folder + "/cgroup.procs").flush();
    const server_usage used = watch.end();
    std::filesystem::remove_all(folder);
    EXPECT_EQ(used.processes, 0U);
    EXPECT_EQ(used.rss_bytes, 0U);
    EXPECT_GT(used.rss_peak_bytes, 0U);
}

TEST(ProcessWatch, SeesTheKernelsMemoryForConnectionsGrow) {
    auto opened = process_watch::open(std::to_string(getpid()));
    ASSERT_TRUE(std::holds_alternative<process_watch>(opened));
    auto& watch = std::get<process_watch>(opened);
    watch.find();
    watch.begin();
    std::vector<int> sockets(900, -1);
    for (std::size_t i = 0; i + 1 < sockets.size(); i += 2)
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, &sockets[i]), 0);
    const server_usage used = watch.end();
    for (const int socket : sockets) close(socket);
    ASSERT_TRUE(used.host_kernel_growth_bytes.has_value());
    EXPECT_GT(*used.host_kernel_growth_bytes, 300'000);
}

TEST(ProcessWatch, SaysWhatIsWrong) {
    const auto refusal = [](const std::string& what) {
        const auto opened = process_watch::open(what);
        const auto* text = std::get_if<std::string>(&opened);
        return text == nullptr ? "accepted" : *text;
    };
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "no such process", refusal("2147483646"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "no such process", refusal("99999999999999999999"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "not a cgroup v2 folder", refusal("/nonexistent"));
    // One of v1's cpu controller has files of these names, and no CPU time in them.
    const std::string folder = testing::TempDir() + "wireload_cgroup_v1_test";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/cgroup.procs") << getpid() << "\n";
    std::ofstream(folder + "/cpu.stat") << "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n";
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "not a cgroup v2 folder", refusal(folder));
    std::filesystem::remove_all(folder);
}

}  // namespace wireload::process_watch_test
