// When the requests of an open loop are due, whatever the server does: at a constant or changing
// rate, evenly or at random (Poisson), or as they were recorded.
//
// A schedule is a cumulative count of requests over time, L(t), made of pieces in which the rate is
// constant or grows evenly; request k is due when L reaches k, or with Poisson arrivals when it
// reaches the sum of k exponential steps of mean 1 (a Poisson process of any rate is one of rate 1
// on a stretched clock: Cinlar, Introduction to Stochastic Processes, 4.7). Counts are integers in
// units of one request / 2e12, so that nothing drifts however long a run is.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.hpp"

namespace wireload {

__extension__ using request_count = unsigned __int128;  // in units of 1 / one_request
inline constexpr std::uint64_t one_request = 2'000'000'000'000;

// The rate goes evenly from one value to the other. In thousandths of a request per second.
struct rate_piece {
    std::uint64_t from_milli = 0;
    std::uint64_t to_milli = 0;
    nanos length = never;  // of a constant rate only: without an end

    bool operator==(const rate_piece&) const = default;
};

enum class arrival_kind : std::uint8_t { constant, poisson, recorded };

struct arrival_plan {
    arrival_kind kind = arrival_kind::constant;
    std::vector<rate_piece> pieces;
    std::vector<nanos> recorded;  // ascending
    std::uint64_t seed = 1;

    // Of all pieces, or of what was recorded; `never` when it has no end.
    nanos length() const;
};

// The moments at which one of `of` threads has a request due: every one of them takes each `of`-th
// of the whole schedule, which is therefore the same for any number of threads. Copies go on
// independently.
class arrivals {
public:
    // Ends before `end`, and after `most` requests of all threads together. `plan` must outlive it.
    arrivals(const arrival_plan& plan, unsigned index, unsigned of, nanos end = never,
             std::uint64_t most = UINT64_MAX);

    // Nanoseconds from the schedule's start; `never` when it is over.
    nanos next() const { return next_; }
    // Whether it is over because of `most`.
    bool used_up() const { return number_ >= most_; }
    void pop();

private:
    void find();
    nanos when(request_count count);
    request_count random_step();

    const arrival_plan* plan_;
    std::uint64_t number_;  // of the next request, in the whole schedule
    std::uint64_t stride_;
    std::uint64_t most_;
    nanos end_;
    nanos next_ = never;
    std::uint64_t random_;
    request_count at_ = 0;  // Poisson: the sum of the steps up to request number_
    std::size_t piece_ = 0;
    nanos piece_start_ = 0;
    request_count piece_count_ = 0;  // L(piece_start_)
};

// "2500", "0.5": requests per second, as thousandths; the string says what is wrong.
std::variant<std::uint64_t, std::string> parse_rate(std::string_view text);
// "1000:5s,2000:5s"
std::variant<std::vector<rate_piece>, std::string> parse_rate_steps(std::string_view text);
// "100:5000:30s"
std::variant<std::vector<rate_piece>, std::string> parse_rate_ramp(std::string_view text);
// One offset in seconds a line, ascending; empty lines and those that begin with # are skipped.
std::variant<std::vector<nanos>, std::string> read_arrivals(std::istream& in);

inline constexpr std::uint64_t most_rate_milli = 1'000'000'000'000;  // a request each nanosecond
inline constexpr std::size_t most_steps = 1'000;
inline constexpr std::size_t most_recorded = 20'000'000;  // 160 MB

}  // namespace wireload
