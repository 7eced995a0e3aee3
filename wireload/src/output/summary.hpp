// The result of a run for a person at a terminal: one screen of 80 columns.
#pragma once

#include <string>

#include "measure/run_result.hpp"
#include "output/screen.hpp"
#include "plan/plan.hpp"

namespace wireload {

std::string summary(const plan& p, const run_result& result, screen_style style);

// "closed loop, 50 connections, 1 thread": what was asked for.
std::string what_was_asked(const plan& p);

}  // namespace wireload
