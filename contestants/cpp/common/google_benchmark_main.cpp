// The same client under google-benchmark: wall and CPU time for one operation, with the connection
// reused, the connection new each time, the client new each time. Reads the environment of the
// client contract; takes google-benchmark's own flags. `wirebench google-benchmark` runs it, and
// gives the rows the names of a published comparison.
#include "client.hpp"

#include <benchmark/benchmark.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
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
        const std::string method = environment.settings.posts ? "/post" : "";
        constexpr std::pair<wirebench::policy, const char*> policies[] = {
            {wirebench::policy::reuse, "/reuse"},
            {wirebench::policy::renew, "/new"},
            {wirebench::policy::cold, "/cold"},
        };
        for (const auto [policy, suffix] : policies) {
            const auto name = scheme + method + suffix;
            benchmark::RegisterBenchmark(name.c_str(),
                                         [&, policy = policy](benchmark::State& state) {
                                             operations(state, environment, policy);
                                         })
                ->Unit(benchmark::kMicrosecond)
                ->DisplayAggregatesOnly()
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
