// Programs that a test runs: one to its end, or one beside it.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "wire/loop/socket.hpp"

namespace wire::testing {

// What a shell's `command` wrote to its standard output.
inline std::string output_of(const std::string& command) {
    std::string out;
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::array<char, 4096> part;
    while (const auto n = std::fread(part.data(), 1, part.size(), pipe)) out.append(part.data(), n);
    ::pclose(pipe);
    return out;
}

inline bool is_installed(const std::string& program) {
    return !output_of("command -v " + program).empty();
}

// A server that runs for as long as this lives. `command`: a shell's, which listens on `port`.
class command_server {
public:
    command_server(const std::string& command, std::uint16_t port) {
        const std::string text = "exec " + command + " >/dev/null 2>&1 </dev/null";
        child_ = ::fork();
        if (child_ == 0) {
            ::execl("/bin/sh", "sh", "-c", text.c_str(), nullptr);
            ::_exit(127);
        }
        for (int i = 0; i < 1000; ++i) {
            if (is_listening(port)) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        ADD_FAILURE() << "does not listen: " << command;
    }
    ~command_server() {
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }
    command_server(const command_server&) = delete;
    command_server& operator=(const command_server&) = delete;

private:
    static bool is_listening(std::uint16_t port) {
        const unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const address to = address::loopback_v4(port);
        return ::connect(fd.get(), to.raw(), to.size()) == 0;
    }

    pid_t child_;
};

// One that nobody listens on just now.
inline std::uint16_t free_port() {
    const auto listening = listen_tcp(address::loopback_v4(0));
    EXPECT_TRUE(listening);
    return local_address(listening->get())->port();
}

}  // namespace wire::testing
