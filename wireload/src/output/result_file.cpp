#include "output/result_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/ending_signals.hpp"
#include "wire/loop/socket.hpp"

namespace wireload {
namespace {

constexpr std::int64_t at_once_ns = 200'000'000;

// What the handler of signals needs: the regular file that is being written, -1: none, and when the
// first signal came, 0: none did.
volatile int being_written = -1;
volatile std::int64_t first_signal_ns = 0;

void empty_what_is_written() {
    if (being_written != -1) (void)!ftruncate(being_written, 0);
}

// Calls nothing that a handler may not (signal-safety(7)).
void on_signal(int number) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    if (first_signal_ns == 0) first_signal_ns = ns;
    if (ns - first_signal_ns < at_once_ns) return;
    empty_what_is_written();
    signal(number, SIG_DFL);
    raise(number);  // takes effect when this returns, since it is blocked until then
}

bool is_regular(const std::string& path) {
    std::error_code failed;
    return std::filesystem::is_regular_file(path, failed);
}

}  // namespace

std::string result_file::open() {
    if (path_.empty() || path_ == "-") return {};
    file_.open(path_, std::ios::app);
    if (file_) return {};
    return fmt::format("{} {}: cannot write this file: {}; give another name", flag_, path_,
                       std::strerror(errno));
}

std::string result_file::empty() {
    if (!file_.is_open() || !is_regular(path_)) return {};
    std::error_code failed;
    std::filesystem::resize_file(path_, 0, failed);
    if (!failed) return {};
    return fmt::format("{} {}: cannot empty this file: {}; give another name", flag_, path_,
                       failed.message());
}

bool result_file::fill(const std::function<void(std::ostream&)>& write) {
    if (!file_.is_open()) return true;
    wire::unique_fd regular;
    if (is_regular(path_)) regular = wire::unique_fd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    being_written = regular.get();
    const auto finish = [&] {
        file_.close();  // what its buffer has goes to the file
        const bool whole = !file_.fail();
        if (!whole) empty_what_is_written();
        being_written = -1;
        return whole;
    };
    try {
        write(file_);
    } catch (...) {
        file_.setstate(std::ios::badbit);
        finish();
        throw;
    }
    return finish();
}

result_signals::result_signals() {
    const sigset_t set = ending_signals();
    pthread_sigmask(SIG_BLOCK, &set, &mask_before_);
    sigaction(SIGINT, nullptr, &interrupt_before_);
    sigaction(SIGTERM, nullptr, &terminate_before_);
}

void result_signals::run_ended() {
    struct sigaction patient{};
    patient.sa_handler = on_signal;
    patient.sa_mask = ending_signals();
    patient.sa_flags = SA_RESTART;
    first_signal_ns = 0;
    // A shell starts what is in its background with SIGINT ignored.
    if (interrupt_before_.sa_handler != SIG_IGN) sigaction(SIGINT, &patient, nullptr);
    if (terminate_before_.sa_handler != SIG_IGN) sigaction(SIGTERM, &patient, nullptr);
    pthread_sigmask(SIG_UNBLOCK, &patient.sa_mask, nullptr);
}

result_signals::~result_signals() {
    sigaction(SIGINT, &interrupt_before_, nullptr);
    sigaction(SIGTERM, &terminate_before_, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

}  // namespace wireload
