// wire_bench: speed of wire's parsers and codecs, beside those of other libraries where they are
// installed.
//
//     wire_bench                       all, with bytes per second
//     wire_bench --rounds=1000 ...     exactly so many rounds of each; instructions.py counts what
//                                      they take
#include "bench.hpp"

#include <cstdlib>
#include <string_view>

namespace wire::bench {

namespace {
long rounds = 0;
}

void add(const std::string& name, void (*run)(benchmark::State&, std::string_view),
         std::string input) {
    auto* made = benchmark::RegisterBenchmark(
        name.c_str(), [run, input = std::move(input)](benchmark::State& state) {
            run(state, input);
            state.SetBytesProcessed(static_cast<std::int64_t>(input.size()) * state.iterations());
        });
    if (rounds > 0) made->Iterations(rounds);
}

}  // namespace wire::bench

int main(int argc, char** argv) {
    constexpr std::string_view option = "--rounds=";
    int kept = 1;
    for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]).starts_with(option)) {
            wire::bench::rounds = std::strtol(argv[i] + option.size(), nullptr, 10);
        } else {
            argv[kept++] = argv[i];
        }
    }
    wire::bench::add_http();
    wire::bench::add_websocket();
    wire::bench::add_digests();
    benchmark::Initialize(&kept, argv);
    if (benchmark::ReportUnrecognizedArguments(kept, argv)) return 64;
    return benchmark::RunSpecifiedBenchmarks() > 0 ? 0 : 1;
}
