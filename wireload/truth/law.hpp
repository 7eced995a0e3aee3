// How long the truth server waits before it answers: laws simple enough to be written down as a
// formula.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace truth {

using nanos = std::int64_t;

// The requests of all connections are numbered from 0 in the order in which they were read; times
// count from the moment the first arrived (the anchor), so that a law is one thing whenever the
// server was started.
class law {
public:
    virtual ~law() = default;
    // When request `index`, which arrived at `received`, is to be answered. Called once for each
    // request, in order.
    virtual nanos due(std::uint64_t index, nanos received) = 0;
};

// The laws, as words:
//   constant D              every request waits D
//   slow N D                every Nth request waits D, the others not at all
//   bimodal D1 D2 PERCENT   PERCENT of the requests wait D2, evenly spread, the others D1
//   drift D0 D1 T           the wait grows from D0 to D1 in a straight line over T, and stays there
//   freeze F P S            nothing is answered in the last F of every P; otherwise one request
//   after the other, each S long
// A text says what is wrong with the words.
std::variant<std::unique_ptr<law>, std::string> parse_law(const std::vector<std::string>& words);

// Which answers are wrong, by the same numbering: every Nth, 0 for none. Where several meet the
// first of these counts.
struct faults {
    std::uint64_t drop = 0;    // the connection is closed instead of an answer
    std::uint64_t status = 0;  // 500
    std::uint64_t body = 0;    // another body of the same length
    std::uint64_t length = 0;  // a shorter body
};

enum class answer : std::uint8_t { right, drop, status, body, length };

answer answer_of(const faults& f, std::uint64_t index);

}  // namespace truth
