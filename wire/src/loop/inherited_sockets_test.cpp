#include "wire/loop/inherited_sockets.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

namespace wire::inherited_sockets_test {

// In a process of its own, whose descriptors from 3 on are `count` listening sockets: what
// listen_fds() makes of them, as an exit status.
template <typename Look> int in_activated_process(int count, Look look) {
    auto first = listen_tcp(address::loopback_v4(0));
    EXPECT_TRUE(first);
    const pid_t child = ::fork();
    if (child == 0) {
        const int kept = ::fcntl(first->get(), F_DUPFD, 100);
        for (int i = 0; i < count; ++i) ::dup2(kept, 3 + i);
        ::close(3 + count);
        ::_exit(look(std::to_string(::getpid())) ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(listen_fds, are_those_from_3_on_and_close_on_exec) {
    EXPECT_EQ(in_activated_process(2,
                                   [](const std::string& own) {
                                       const auto got = listen_fds(own, "2");
                                       return got && got->size() == 2 && (*got)[0].get() == 3 &&
                                              (*got)[1].get() == 4 &&
                                              (::fcntl(3, F_GETFD) & FD_CLOEXEC) != 0 &&
                                              prepare_inherited((*got)[0]) &&
                                              (::fcntl(3, F_GETFL) & O_NONBLOCK) != 0;
                                   }),
              0);
}
TEST(listen_fds, must_be_open) {
    EXPECT_EQ(in_activated_process(1,
                                   [](const std::string& own) {
                                       return listen_fds(own, "2").code() == errc::bad_argument &&
                                              ::fcntl(3, F_GETFD) >= 0;
                                   }),
              0);
}
TEST(listen_fds, are_none_of_another_process_or_without_the_variables) {
    const std::string own = std::to_string(::getpid());
    for (const auto& [pid, count] :
         {std::array<std::string, 2>{"1", "1"}, {"", "1"}, {own, ""}, {own, "0"}}) {
        const auto got = listen_fds(pid, count);
        ASSERT_TRUE(got) << pid << " " << count;
        EXPECT_TRUE(got->empty());
    }
    for (const auto& [pid, count] : {std::array<std::string, 2>{"x", "1"},
                                     {own, "1x"},
                                     {own, "-1"},
                                     {own, "1001"},
                                     {"99999999999999999999999", "1"},
                                     {own, " 1"}}) {
        EXPECT_EQ(listen_fds(pid, count).code(), errc::bad_argument) << pid << " " << count;
    }
}
TEST(prepare_inherited, takes_listening_stream_sockets_only) {
    const unique_fd stream(::socket(AF_INET, SOCK_STREAM, 0));
    const unique_fd datagram(::socket(AF_INET, SOCK_DGRAM, 0));
    const unique_fd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    for (const unique_fd* fd : {&stream, &datagram, &file})
        EXPECT_EQ(prepare_inherited(*fd).code(), errc::bad_argument);
    EXPECT_EQ(prepare_inherited(unique_fd()).code(), errc::bad_argument);
}

}  // namespace wire::inherited_sockets_test
