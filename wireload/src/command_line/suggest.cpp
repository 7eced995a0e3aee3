#include "command_line/suggest.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace wireload {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const std::string& candidate : candidates) {
        std::size_t distance = edit_distance(word, candidate);
        // A word cut short ("--dur") is meant for what it begins, however much is missing.
        if (word.size() > 3 && candidate.starts_with(word)) distance = 1;
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

std::string_view advice_for_foreign_flag(std::string_view flag) {
    // Flags that people type from habit: ab, wrk, hey, oha, h2load, k6, bombardier.
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> table = {{
        {"-k", "connections are kept alive by default; --no-keepalive opens one for each request"},
        {"-L", "latency percentiles are always printed; leave it out"},
        {"--latency", "latency percentiles are always printed; leave it out"},
        {"-z", "use -d/--duration"},
        {"-D", "use -d/--duration"},
        {"-u", "use -c/--connections"},
        {"--vus", "use -c/--connections"},
        {"--clients", "use -c/--connections"},
        {"-p", "use --pipeline for requests in flight, or --body-file for a body to post"},
        {"--disable-keepalive", "use --no-keepalive"},
    }};
    const auto* found = std::find_if(table.begin(), table.end(),
                                     [&](const auto& row) { return row.first == flag; });
    return found == table.end() ? std::string_view{} : found->second;
}

}  // namespace wireload
