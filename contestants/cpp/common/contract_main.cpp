// The client contract: warm up, run the operations one after another, write the samples, print one
// JSON line.
#include "client.hpp"

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <vector>

namespace {

using steady = std::chrono::steady_clock;

std::uint64_t ns(steady::duration time) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

std::uint64_t ns(const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_usec) * 1'000;
}

rusage usage() {
    rusage now{};
    getrusage(RUSAGE_SELF, &now);
    return now;
}

void write_samples(const std::string& path, const std::vector<std::uint64_t>& samples) {
    if (path.empty()) return;
    std::vector<char> bytes;
    bytes.reserve(samples.size() * 8);
    for (const auto sample : samples)
        for (int shift = 0; shift < 64; shift += 8)
            bytes.push_back(static_cast<char>(sample >> shift));
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error("WIREBENCH_SAMPLES: cannot write " + path);
}

// Errors in a row after which a peer is taken to be gone.
constexpr int hopeless = 10;

int run() {
    const auto environment = wirebench::read_environment();
    std::uint64_t errors = 0;
    int in_a_row = 0;
    std::vector<std::uint64_t> samples;
    samples.reserve(environment.operations);
    steady::duration wall{};
    rusage before{};
    rusage after{};
    std::uint64_t connections = 0;
    {
        wirebench::session session(environment.settings, environment.policy, environment.expected);
        const auto attempt = [&](auto step) {
            try {
                step();
                in_a_row = 0;
                return true;
            } catch (const std::exception& failure) {
                if (errors++ == 0) std::fprintf(stderr, "first error: %s\n", failure.what());
                ++in_a_row;
                return false;
            }
        };
        for (std::uint64_t i = 0; i < environment.warmup && in_a_row < hopeless; ++i)
            attempt([&] { session.operate(); });
        attempt([&] { session.prepare(); });
        before = usage();
        const auto begin = steady::now();
        auto last = begin;
        for (std::uint64_t i = 0; i < environment.operations && in_a_row < hopeless; ++i) {
            const bool done = attempt([&] { session.operate(); });
            const auto now = steady::now();
            if (done) samples.push_back(ns(now - last));
            last = now;
        }
        wall = last - begin;
        after = usage();
        connections = session.connections();
    }
    write_samples(environment.samples_file, samples);
    std::printf(
        "{\"operations\":%llu,\"errors\":%llu,\"connections\":%llu,\"wall_ns\":%llu,\"cpu_user_"
        "ns\":%llu,\"cpu_system_ns\":%llu}\n",
        static_cast<unsigned long long>(samples.size()), static_cast<unsigned long long>(errors),
        static_cast<unsigned long long>(connections), static_cast<unsigned long long>(ns(wall)),
        static_cast<unsigned long long>(ns(after.ru_utime) - ns(before.ru_utime)),
        static_cast<unsigned long long>(ns(after.ru_stime) - ns(before.ru_stime)));
    return errors == 0 && samples.size() == environment.operations ? 0 : 1;
}

}  // namespace

int main() {
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return run();
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "client: %s\n", failure.what());
        return 1;
    }
}
