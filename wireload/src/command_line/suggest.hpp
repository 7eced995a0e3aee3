// Suggestions for misspelt words and for the flags of other load generators.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wireload {

// The candidate nearest to `word` by insertions, deletions, replacements and swaps of neighbours
// (optimal string alignment); empty when none is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// What to use instead of a flag that another load generator has; empty when unknown.
std::string_view advice_for_foreign_flag(std::string_view flag);

}  // namespace wireload
