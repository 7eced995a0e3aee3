// The command line's part about open loops.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "plan/options.hpp"
#include "command_line/raw_options.hpp"

namespace wireload {

// Fills `out.open_loop`, and the duration where the schedule has one, when one of the options of
// open loops was given; the other options of the load have been read. `given` says whether an
// option was. Returns what is wrong, or nothing.
std::string read_open_loop(const raw_options& raw, const std::function<bool(const char*)>& given,
                           options& out);

// When the number of threads and the seed are known.
void complete_open_loop(options& out);

}  // namespace wireload
