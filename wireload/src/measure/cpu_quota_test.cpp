#include "measure/cpu_quota.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "measure/generator_meter.hpp"

namespace wireload::cpu_quota_test {

namespace fs = std::filesystem;

// A /proc and a /sys with one process, "self".
class machine {
public:
    machine() {
        std::string name = (fs::temp_directory_path() / "cpu-quota-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) std::abort();
        root_ = name;
    }
    ~machine() { fs::remove_all(root_); }
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    void put(const std::string& file, const std::string& text) {
        const fs::path path = root_ / file;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    void stopped(const std::string& folder, int periods, int us) {
        put(folder + "/cpu.stat", "usage_usec 99\nnr_periods 1000\nnr_throttled " +
                                      std::to_string(periods) + "\nthrottled_usec " +
                                      std::to_string(us) + "\n");
    }
    void remove(const std::string& file) { fs::remove_all(root_ / file); }
    std::string path(const std::string& file) const { return (root_ / file).string(); }
    cpu_quota quota() const { return cpu_quota::of_process("self", root_.string()); }

private:
    fs::path root_;
};

constexpr const char* v2_mount =
    "22 27 0:21 / /proc rw - proc proc rw\n"
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 master:3 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* v1_mounts =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

TEST(CpuQuota, IsTheSmallestOfTheOwnGroupAndThoseAbove) {
    machine m;
    m.put("proc/self/mountinfo", v2_mount);
    m.put("proc/self/cgroup", "0::/box.slice/inner/own\n");
    const std::string top = "sys/fs/cgroup/box.slice";
    EXPECT_EQ(m.quota().cpus(), std::nullopt);
    m.put(top + "/inner/own/cpu.max", "max 100000\n");
    EXPECT_EQ(m.quota().cpus(), std::nullopt);
    m.put(top + "/inner/cpu.max", "300000 100000\n");
    EXPECT_EQ(m.quota().cpus(), 3);
    m.put(top + "/cpu.max", "25000 50000\n");
    EXPECT_EQ(m.quota().cpus(), 0.5);
    m.put(top + "/inner/own/cpu.max", "150000 100000\n");
    EXPECT_EQ(m.quota().cpus(), 0.5);
    m.put("sys/fs/cgroup/other/cpu.max", "1000 100000\n");
    EXPECT_EQ(m.quota().cpus(), 0.5);
}

TEST(CpuQuota, OfVersion1IsThatOfTheCpuControllerAlone) {
    machine m;
    m.put("proc/self/mountinfo", v1_mounts);
    m.put("proc/self/cgroup", "4:cpuset:/a\n3:cpu,cpuacct:/a/b:c\n1:name=systemd:/x\n0::/\n");
    const std::string top = "sys/fs/cgroup/cpu,cpuacct";
    m.put(top + "/cpu.cfs_quota_us", "-1\n");
    m.put(top + "/cpu.cfs_period_us", "100000\n");
    m.put("sys/fs/cgroup/cpuset/a/cpu.cfs_quota_us", "1000\n");
    m.put("sys/fs/cgroup/cpuset/a/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(m.quota().cpus(), std::nullopt);
    m.put(top + "/a/b:c/cpu.cfs_quota_us", "75000\n");
    m.put(top + "/a/b:c/cpu.cfs_period_us", "50000\n");
    EXPECT_EQ(m.quota().cpus(), 1.5);
    m.put(top + "/a/b:c/cpu.stat", "nr_periods 5\nnr_throttled 2\nthrottled_time 70\n");
    cpu_quota quota = m.quota();
    quota.begin();
    m.put(top + "/a/b:c/cpu.stat", "nr_periods 9\nnr_throttled 5\nthrottled_time 170\n");
    const quota_use use = quota.end();
    ASSERT_TRUE(use.stopped);
    EXPECT_EQ(use.stopped->periods, 3U);
    EXPECT_EQ(use.stopped->time, 100);
}

// Without a cgroup namespace, a container sees its group's whole path, and a mount of it alone.
TEST(CpuQuota, IsFoundWhereTheMountShowsOnlyAPart) {
    machine m;
    m.put("proc/self/cgroup", "0::/docker/4f2/worker\n");
    m.put("proc/self/mountinfo",
          "31 23 0:28 /docker/4f2 /my\\040groups rw - cgroup2 cgroup2 rw\n"
          "32 23 0:28 /docker/4 /trap rw - cgroup2 cgroup2 rw\n");
    m.put("my groups/cpu.max", "50000 100000");
    m.put("trap/cpu.max", "1000 100000");
    EXPECT_EQ(m.quota().cpus(), 0.5);
    m.put("my groups/worker/cpu.max", "20000 100000");
    EXPECT_EQ(m.quota().cpus(), 0.2);
    // Another mount shows what is above as well.
    m.put("proc/self/mountinfo",
          "31 23 0:28 /docker/4f2 /my\\040groups rw - cgroup2 cgroup2 rw\n"
          "32 23 0:28 / /all rw - cgroup2 cgroup2 rw\n");
    m.put("all/docker/cpu.max", "10000 100000");
    EXPECT_EQ(m.quota().cpus(), 0.1);
}

TEST(CpuQuota, WhatStoppedTheGroupForLongestIsTold) {
    machine m;
    m.put("proc/self/mountinfo", v2_mount);
    m.put("proc/self/cgroup", "0::/a/b\n");
    m.put("sys/fs/cgroup/a/cpu.max", "max 100000\n");
    m.put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    m.stopped("sys/fs/cgroup", 10, 500);
    m.stopped("sys/fs/cgroup/a", 10, 500);
    m.stopped("sys/fs/cgroup/a/b", 3, 900);
    cpu_quota quota = m.quota();
    quota.begin();
    m.stopped("sys/fs/cgroup", 20, 9'000);  // the root has no quota, and this is of no group
    m.stopped("sys/fs/cgroup/a", 14, 800);
    m.stopped("sys/fs/cgroup/a/b", 8, 950);
    const quota_use use = quota.end();
    ASSERT_TRUE(use.stopped);
    EXPECT_EQ(use.stopped->periods, 4U);
    EXPECT_EQ(use.stopped->time, 300'000);
    EXPECT_EQ(use.cpus, std::nullopt);
}

TEST(CpuQuota, WhatMakesNoSenseSaysNothing) {
    for (const char* groups : {"", "\n", "::\n", "0\n", "0:", "0::", "0::a/b\n", "0::/../b\n",
                               "0::/..\n", "4:cpu:b\n", "x:cpu:/\n", "0::/b/\n"}) {
        for (const char* mounts :
             {"", "-", " - ", "1 2 3 / /m rw - cgroup2\n", "1 2 3 / - cgroup2 x rw\n",
              "1 2 3 /.. /m rw - cgroup2 cgroup2 rw\n", "1 2 3 / /m\\04 rw - cgroup cgroup\n"}) {
            machine m;
            m.put("proc/self/cgroup", groups);
            m.put("proc/self/mountinfo", mounts);
            EXPECT_EQ(m.quota().cpus(), std::nullopt) << groups << mounts;
        }
    }
    machine m;
    EXPECT_EQ(m.quota().cpus(), std::nullopt);  // no files at all
    m.put("proc/self/mountinfo", v2_mount);
    m.put("proc/self/cgroup", "0::/a\n");
    for (const char* text : {"", "max", "50000", "0 100000", "50000 0", "-5 100000", "x y",
                             "99999999999999999999 100000"}) {
        m.put("sys/fs/cgroup/a/cpu.max", text);
        EXPECT_EQ(m.quota().cpus(), std::nullopt) << text;
    }
    for (const char* text : {"", "nr_throttled", "nr_throttled 1\n", "nr_throttled x\n", "\n\n"}) {
        m.put("sys/fs/cgroup/a/cpu.stat", text);
        cpu_quota quota = m.quota();
        quota.begin();
        EXPECT_FALSE(quota.end().stopped) << text;
    }
    // Counts that go down are of another group of this name; one that is gone says nothing.
    m.stopped("sys/fs/cgroup/a", 10, 500);
    cpu_quota quota = m.quota();
    quota.begin();
    m.stopped("sys/fs/cgroup/a", 2, 100);
    EXPECT_FALSE(quota.end().stopped);
    m.remove("sys/fs/cgroup/a");
    EXPECT_FALSE(quota.end().stopped);
}

TEST(CpuQuota, OfAFolderWithThoseAbove) {
    machine m;
    m.put("cgroup/cgroup.procs", "");
    m.put("cgroup/a/cgroup.procs", "");
    m.put("cgroup/a/b/cgroup.procs", "");
    m.put("cgroup/a/cpu.max", "40000 100000");
    m.put("cpu.max", "1 100000");  // not of a group
    EXPECT_EQ(cpu_quota::of_folder(m.path("cgroup/a/b/")).cpus(), 0.4);
    EXPECT_EQ(cpu_quota::of_folder(m.path("cgroup")).cpus(), std::nullopt);
    EXPECT_EQ(cpu_quota::of_folder(m.path("absent")).cpus(), std::nullopt);
}

TEST(CpuQuota, SaysHowManyCpusCanBeBusy) {
    machine m;
    EXPECT_EQ(m.quota().usable(4), 4U);
    EXPECT_EQ(m.quota().usable(0), 1U);
    m.put("proc/self/mountinfo", v2_mount);
    m.put("proc/self/cgroup", "0::/\n");
    m.put("sys/fs/cgroup/cpu.max", "50000 100000");
    EXPECT_EQ(m.quota().usable(4), 1U);
    m.put("sys/fs/cgroup/cpu.max", "290000 100000");
    EXPECT_EQ(m.quota().usable(4), 2U);
    EXPECT_EQ(m.quota().usable(2), 2U);
    m.put("sys/fs/cgroup/cpu.max", "900000 100000");
    EXPECT_EQ(m.quota().usable(4), 4U);
}

TEST(CpuQuota, IsTheGeneratorsLimitFromOnePercentOfTheWindowOn) {
    generator_usage used;
    used.quota.window = 10'000'000'000;
    used.cpu_share = 0.3;
    EXPECT_EQ(used.limit(), generator_limit::none);
    used.quota.stopped = {.periods = 0, .time = 0};
    EXPECT_EQ(used.limit(), generator_limit::none);
    used.quota.stopped = {.periods = 3, .time = 99'000'000};
    EXPECT_EQ(used.limit(), generator_limit::none);
    EXPECT_EQ(used.used_share(), 0.3);
    used.quota.stopped = {.periods = 3, .time = 100'000'000};
    EXPECT_EQ(used.limit(), generator_limit::cpu_quota);
    EXPECT_EQ(used.used_share(), 1);
    used.quota.stopped.reset();
    used.cpu_share = 0.96;
    EXPECT_EQ(used.limit(), generator_limit::cpu);
}

}  // namespace wireload::cpu_quota_test
