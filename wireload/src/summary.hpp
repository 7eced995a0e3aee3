// The result of a run for a person at a terminal: one screen.
#pragma once

#include <string>

#include "plan.hpp"
#include "run.hpp"

namespace wireload {

std::string summary(const plan& p, const run_result& result, bool colour);

// Whether to colour what goes to descriptor `fd`: a terminal, and NO_COLOR (https://no-color.org) not set.
bool wants_colour(int fd);

}  // namespace wireload
