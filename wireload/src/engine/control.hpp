// The main thread waits here for workers, for the clock and for the user's signals.
#pragma once

#include <signal.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "measure/tally.hpp"
#include "wire/loop/socket.hpp"

namespace wireload {

class control {
public:
    // Blocks SIGINT and SIGTERM in this thread and all that it starts later, as long as it lives;
    // they are read here instead.
    control();
    ~control();
    control(const control&) = delete;
    control& operator=(const control&) = delete;

    // Any thread.
    void notify() noexcept;

    // Returns when `done` says so, which is asked at each notification, at `until`, or when a
    // signal has come.
    void wait(nanos until, const std::function<bool()>& done);
    bool interrupted() const { return interrupted_; }
    // Reads a line from this file, without its end and nothing beyond it. Absent when the file ends
    // before, when the line is longer than `most`, or when a signal has come.
    std::optional<std::string> read_line(int file, std::size_t most);

private:
    sigset_t mask_before_{};
    wire::unique_fd notified_;
    wire::unique_fd signals_;
    bool interrupted_ = false;
};

}  // namespace wireload
