// Estimates the latencies that a closed loop missed because it did not send while it waited. An
// estimate is not a measurement.
#pragma once

#include <cstdint>

#include "measure/histogram.hpp"

namespace wireload {

// For each latency above `expected_ns`, those that requests due every `expected_ns` meanwhile would
// have had: as much less for each of them, down to `expected_ns` itself (HdrHistogram's
// copyCorrectedForCoordinatedOmission, Gil Tene). It takes every such request to have waited for
// the same answer, which a server with several threads need not bear out. An open loop measures
// what this guesses. expected_ns must not be 0.
histogram corrected_for_omission(const histogram& measured, std::uint64_t expected_ns);

}  // namespace wireload
