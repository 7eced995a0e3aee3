// The series as a table for spreadsheets and plots.
#pragma once

#include <ostream>

#include "measure/run_result.hpp"
#include "plan/plan.hpp"

namespace wireload {

// One line for each interval of the window, or round of a ramp; RFC 4180 with bare line feeds. The
// header names the columns; what is not known is empty. `time_s` is the interval's start, from the
// window's; of a ramp without connecting. Of an open loop lines for the replies that came after the
// window follow.
void write_csv(std::ostream& out, const plan& p, const run_result& r);

// Start and length of each interval that was recorded.
struct interval_span {
    nanos start;
    nanos length;
};
std::vector<interval_span> spans_of(const plan& p, const run_result& r);

}  // namespace wireload
