// The parts of the document and of the summary that only an open loop has.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/run_result.hpp"
#include "plan/plan.hpp"

namespace wireload {

// "open_loop": null for other loads. `latency` writes a histogram.
nlohmann::ordered_json open_loop_document(
    const plan& p, const run_result& r,
    const std::function<nlohmann::ordered_json(const histogram&)>& latency);

// "open loop, 5000/s (poisson)": for the line that says what was asked.
std::string open_loop_plan_text(const options& asked);
// Lines for the summary; empty for other loads.
std::string open_loop_lines(const plan& p, const run_result& r);
// Warnings: a rate that was not kept, and a window that is void.
std::vector<std::string> open_loop_warnings(const plan& p, const run_result& r);

}  // namespace wireload
