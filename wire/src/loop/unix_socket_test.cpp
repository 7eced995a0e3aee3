#include "wire/loop/unix_socket.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "scratch_folder.hpp"

namespace wire {
namespace {

namespace fs = std::filesystem;
using testing::scratch_folder;

unsigned mode_of(const std::string& path) {
    struct stat s{};
    EXPECT_EQ(::lstat(path.c_str(), &s), 0);
    return s.st_mode & 07777U;
}

TEST(unix_socket, has_exactly_the_mode_that_was_asked_for_whatever_the_umask) {
    const scratch_folder f;
    for (const unsigned mode : {0600U, 0660U, 0666U}) {
        const mode_t before = ::umask(0077);
        const auto l = listen_unix(f.file("s"), {.mode = mode});
        ::umask(before);
        ASSERT_TRUE(l) << l.error().message;
        EXPECT_EQ(mode_of(f.file("s")), mode);
    }
}
TEST(unix_socket, file_goes_with_its_owner_unless_kept_or_replaced) {
    const scratch_folder f;
    {
        const auto l = listen_unix(f.file("s"));
        ASSERT_TRUE(l);
        EXPECT_TRUE(fs::exists(f.file("s")));
        EXPECT_TRUE(connect_unix(f.file("s")));
    }
    EXPECT_FALSE(fs::exists(f.file("s")));
    {
        auto l = listen_unix(f.file("s"));
        ASSERT_TRUE(l);
        l->file.keep();
    }
    EXPECT_TRUE(fs::exists(f.file("s")));
    fs::remove(f.file("s"));
    {
        const auto l = listen_unix(f.file("s"));
        fs::remove(f.file("s"));
        std::ofstream(f.file("s")) << "another";
    }
    EXPECT_TRUE(fs::exists(f.file("s")));
}
TEST(unix_socket, file_of_a_relative_path_goes_after_a_chdir) {
    const scratch_folder f;
    const fs::path before = fs::current_path();
    fs::current_path(f.file(""));
    {
        const auto l = listen_unix("s");
        fs::current_path(before);
        ASSERT_TRUE(l) << l.error().message;
        EXPECT_TRUE(connect_unix(f.file("s")));
    }
    EXPECT_FALSE(fs::exists(f.file("s")));
}
TEST(unix_socket, replaces_a_file_on_which_nobody_listens) {
    const scratch_folder f;
    {
        auto l = listen_unix(f.file("s"));
        l->file.keep();
    }
    EXPECT_EQ(connect_unix(f.file("s")).code(), errc::refused);
    const auto l = listen_unix(f.file("s"));
    ASSERT_TRUE(l) << l.error().message;
    EXPECT_TRUE(connect_unix(f.file("s")));
    // Of one on which somebody does, it takes nothing away.
    const auto second = listen_unix(f.file("s"));
    EXPECT_EQ(second.code(), errc::address_in_use);
    EXPECT_NE(second.error().message.find(f.file("s")), std::string::npos);
    EXPECT_TRUE(connect_unix(f.file("s")));
}
TEST(unix_socket, is_taken_by_one_of_those_who_start_at_once) {
    const scratch_folder f;
    for (int round = 0; round < 300; ++round) {
        listen_unix(f.file("s"))->file.keep();  // left by nobody
        std::atomic<int> there{0};
        std::vector<std::optional<unix_listening>> all(3);
        std::vector<std::thread> threads;
        for (auto& mine : all) {
            threads.emplace_back([&] {
                ++there;
                while (there < 3) {}
                if (auto l = listen_unix(f.file("s"))) mine = *std::move(l);
            });
        }
        for (auto& t : threads) t.join();
        ASSERT_EQ(std::count_if(all.begin(), all.end(), [](auto& l) { return l.has_value(); }), 1);
        EXPECT_TRUE(connect_unix(f.file("s")));
    }
}
TEST(unix_socket, leaves_other_files_and_links_alone) {
    const scratch_folder f;
    std::ofstream(f.file("text")) << "precious";
    EXPECT_EQ(listen_unix(f.file("text")).code(), errc::address_in_use);
    {
        auto stale = listen_unix(f.file("stale"));
        stale->file.keep();
    }
    fs::create_symlink(f.file("stale"), f.file("link"));
    EXPECT_EQ(listen_unix(f.file("link")).code(), errc::address_in_use);
    EXPECT_TRUE(fs::exists(f.file("stale")));
    EXPECT_TRUE(fs::exists(f.file("text")));
}
TEST(unix_socket, abstract_names_have_no_file) {
    const std::string name = "@wire-test-" + std::to_string(::getpid());
    {
        const auto l = listen_unix(name);
        ASSERT_TRUE(l) << l.error().message;
        EXPECT_TRUE(connect_unix(name));
        EXPECT_EQ(listen_unix(name).code(), errc::address_in_use);
        EXPECT_EQ(local_address(l->socket.get())->to_string(), "unix:");
    }
    EXPECT_EQ(connect_unix(name).code(), errc::refused);
    EXPECT_FALSE(fs::exists(name));
}
TEST(unix_socket, paths_that_cannot_be) {
    const std::string longest(107, 'x');
    for (const std::string& path :
         {std::string(), std::string("@"), longest + "x", std::string("a\0b", 3)}) {
        EXPECT_EQ(listen_unix(path).code(), errc::bad_argument);
        EXPECT_EQ(connect_unix(path).code(), errc::bad_argument);
    }
    EXPECT_EQ(connect_unix(longest).code(), errc::refused);
    EXPECT_EQ(connect_unix("/no/such/folder/s").code(), errc::refused);
    EXPECT_EQ(listen_unix("/no/such/folder/s").code(), errc::system_error);
}
TEST(unix_socket, a_full_queue_is_told_from_a_refusal) {
    const scratch_folder f;
    const auto l = listen_unix(f.file("s"), {.backlog = 0});
    ASSERT_TRUE(l);
    std::vector<unique_fd> crowd;
    errc last = errc::none;
    while (last == errc::none && crowd.size() < 10) {
        auto c = connect_unix(f.file("s"));
        last = c.code();
        if (c) crowd.push_back(*std::move(c));
    }
    EXPECT_EQ(last, errc::queue_full);
    EXPECT_EQ(listen_unix(f.file("s")).code(), errc::address_in_use);
}

}  // namespace
}  // namespace wire
