// Turns: several wireloads on one host, each with a server of its own, send one after another. They
// agree by the steady clock alone, and need not know each other.
//
//   cycle         0                       1                       2
//            +-------+-------+-------+-------+-------+-------+-------+--
//   turn of  |   2   |   1   |   3   |   1   |   3   |   2   |   3   | ...
//            +-------+-------+-------+-------+-------+-------+-------+--
//
// One turn:  |warm| measured          | rest |
//
// A host's speed changes at all time scales, from hundredths of a second to hours. What is measured
// within the same tenth of a second has had the same changes.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.hpp"

namespace wireload {

struct turn_options {
    std::uint32_t number = 1;  // of this one, from 1 to `of`
    std::uint32_t of = 1;
    std::chrono::nanoseconds length = std::chrono::milliseconds(25);

    // Sent and not measured: the caches of the server's core are another's.
    nanos warm() const { return length.count() / 10; }
    // From a turn's start until nothing more is sent; the replies that are due then have the rest.
    nanos sending() const { return length.count() * 8 / 10; }
    nanos measured() const { return sending() - warm(); }
};

inline constexpr std::uint32_t most_turns = 64;

// The place of turn `number` in a cycle, from 0 to of - 1. The order is drawn anew for each cycle,
// so that none always follows the same other one.
std::uint32_t place_in_cycle(std::uint64_t cycle, std::uint32_t number, std::uint32_t of);

// The start of the first turn that begins at `now` or later.
nanos next_turn(const turn_options& turns, nanos now);

}  // namespace wireload
