// The result of a run for a person at a terminal: one screen of 80 columns.
#pragma once

#include <string>

#include "plan/plan.hpp"
#include "engine/run.hpp"
#include "output/screen.hpp"

namespace wireload {

std::string summary(const plan& p, const run_result& result, screen_style style);

// "closed loop, 50 connections, 1 thread": what was asked for.
std::string what_was_asked(const plan& p);

}  // namespace wireload
