// Shares as people read them. Rounding makes no part a whole, and no something a nothing.
#pragma once

#include <string>

namespace wireload {

// "12.3%": three digits, and as many more as it takes to stay on the same side of 0, 100 and
// `limit`: "99.996%".
std::string format_percent(double percent, double limit = 100);
// For a column, with so many decimals: "99.50%", ">99.99%", "<0.01%".
std::string format_percent_in_column(double percent, int decimals);

}  // namespace wireload
