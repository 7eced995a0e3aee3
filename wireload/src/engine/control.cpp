#include "engine/control.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/ending_signals.hpp"

namespace wireload {

control::control() {
    const sigset_t set = ending_signals();
    pthread_sigmask(SIG_BLOCK, &set, &mask_before_);
    signals_ = wire::unique_fd(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
    notified_ = wire::unique_fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

control::~control() {
    // One that came after the one that ended the run means nothing more: timeout(1) sends its
    // signal twice.
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {}
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void control::notify() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = write(notified_.get(), &one, sizeof one);
}

void control::wait(nanos until, const std::function<bool()>& done) {
    while (!interrupted_ && !done()) {
        timespec limit{};
        if (until != never) {
            const nanos left = until - clock_now();
            if (left <= 0) return;
            limit.tv_sec = static_cast<time_t>(left / 1'000'000'000);
            limit.tv_nsec = static_cast<long>(left % 1'000'000'000);
        }
        pollfd sources[] = {{.fd = notified_.get(), .events = POLLIN, .revents = 0},
                            {.fd = signals_.get(), .events = POLLIN, .revents = 0}};
        if (ppoll(sources, 2, until == never ? nullptr : &limit, nullptr) <= 0) continue;
        std::uint64_t count = 0;
        signalfd_siginfo info{};
        [[maybe_unused]] const auto notes = read(notified_.get(), &count, sizeof count);
        if (read(signals_.get(), &info, sizeof info) == sizeof info) interrupted_ = true;
    }
}

std::optional<std::string> control::read_line(int file, std::size_t most) {
    std::string line;
    while (line.size() <= most) {
        pollfd sources[] = {{.fd = file, .events = POLLIN, .revents = 0},
                            {.fd = signals_.get(), .events = POLLIN, .revents = 0}};
        if (ppoll(sources, 2, nullptr, nullptr) <= 0) continue;
        signalfd_siginfo info{};
        if (read(signals_.get(), &info, sizeof info) == sizeof info) interrupted_ = true;
        if (interrupted_) break;
        char next = 0;
        if (sources[0].revents == 0) continue;
        if (read(file, &next, 1) != 1) break;
        if (next == '\n') return line;
        line += next;
    }
    return std::nullopt;
}

}  // namespace wireload
