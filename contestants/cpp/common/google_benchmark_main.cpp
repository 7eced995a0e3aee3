// The same client under google-benchmark, printing what the client-roundtrip article printed: mean,
// median and standard deviation over 20 repeats of wall and CPU time for one operation: connection
// reused, connection new each time, client new each time. Reads the environment of the client
// contract; takes google-benchmark's own flags (--benchmark_repetitions=...).
#include "client.hpp"

#include <benchmark/benchmark.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <utility>

namespace {

void operations(benchmark::State& state, const wirebench::environment& environment,
                wirebench::policy policy) {
    try {
        wirebench::session session(environment.settings, policy, environment.expected);
        session.prepare();
        for (auto _ : state) session.operate();
        session.finish();
        state.counters["connections"] = static_cast<double>(session.connections());
    } catch (const std::exception& failure) {
        state.SkipWithError(failure.what());
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);
    try {
        const auto environment = wirebench::read_environment();
        const auto scheme = environment.settings.url.substr(0, environment.settings.url.find(':'));
        constexpr std::pair<wirebench::policy, const char*> policies[] = {
            {wirebench::policy::reuse, "/reuse"},
            {wirebench::policy::renew, "/new"},
            {wirebench::policy::cold, "/cold"},
        };
        for (const auto [policy, suffix] : policies) {
            const auto name = scheme + suffix;
            benchmark::RegisterBenchmark(name.c_str(),
                                         [&, policy = policy](benchmark::State& state) {
                                             operations(state, environment, policy);
                                         })
                ->Unit(benchmark::kMicrosecond)
                ->Repetitions(20)
                ->ReportAggregatesOnly()
                ->MeasureProcessCPUTime()
                ->UseRealTime();
        }
        benchmark::Initialize(&argc, argv);
        if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 64;
        benchmark::RunSpecifiedBenchmarks();
        benchmark::Shutdown();
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "client_benchmark: %s\n", failure.what());
        return 1;
    }
}
