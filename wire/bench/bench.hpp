// How a benchmark registers itself. main.cpp runs them, or a given number of rounds of each.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <string_view>

namespace wire::bench {

// A parser that rejects its input looks fast: with `right` false the result is an error instead of
// a figure.
struct check {
    benchmark::State& state;
    void operator()(bool right) const {
        if (!right) state.SkipWithError("wrong result");
    }
};

// `name` is what/size/whose: those that do the same work share all but the last part.
void add(const std::string& name, void (*run)(benchmark::State&, std::string_view),
         std::string input);

void add_http();
void add_websocket();
void add_digests();

}  // namespace wire::bench
