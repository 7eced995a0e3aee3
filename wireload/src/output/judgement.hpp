// Whether a run passed the conditions that --fail-if sets.
#pragma once

#include <optional>
#include <string>

#include "measure/run_result.hpp"
#include "plan/threshold.hpp"

namespace wireload {

struct judgement {
    // In the unit of the threshold; absent when there is none, or too few samples for it.
    std::optional<double> value;
    std::optional<bool> holds;  // absent: not decided
    std::string why_undecided;  // for a person; empty when it is
};

// A percentile with fewer than 10 samples beyond it is not decided, nor is what a void window says
// of the server (open_loop_verdict.hpp).
judgement judge(const threshold& t, const run_result& r);

// An undecided condition fails as well: a gate must not open when it could not look.
inline bool fails(const judgement& j) { return j.holds.value_or(true); }

}  // namespace wireload
