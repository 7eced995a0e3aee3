#include "plan/arrivals.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <istream>

#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/printable.hpp"
#include "base/random.hpp"

namespace wireload {
namespace {

// The rate in thousandths times 1 ns, in units of a request: rate / 1e3 / 1e9 * 2e12 = 2 * rate.
request_count count_of(const rate_piece& p) {
    return (request_count{p.from_milli} + p.to_milli) * static_cast<std::uint64_t>(p.length);
}

// How long after the start of a piece `count` requests have come; `count` is less than it has in
// all.
nanos offset_in(const rate_piece& p, request_count count) {
    if (p.from_milli == p.to_milli) {
        // Most often 64 bits are enough, and dividing those is quick.
        const std::uint64_t per_ns = 2 * p.from_milli;
        if (count <= UINT64_MAX)
            return static_cast<nanos>(static_cast<std::uint64_t>(count) / per_ns);
        return static_cast<nanos>(count / per_ns);
    }
    // count = a x + g x^2 / 2 with a = rate at the start and g = its growth, solved so that nothing
    // cancels out. The 64 bits of a long double's fraction are good for a nanosecond in centuries.
    const long double length = static_cast<long double>(p.length);
    const long double a = 2.0L * static_cast<long double>(p.from_milli);
    const long double g = (2.0L * static_cast<long double>(p.to_milli) - a) / length;
    const auto c = static_cast<long double>(count);
    const long double root = std::sqrt(std::max(0.0L, a * a + 2.0L * g * c));
    const long double x = a + root > 0 ? 2.0L * c / (a + root) : 0.0L;
    return static_cast<nanos>(std::clamp(x, 0.0L, length));
}

constexpr std::string_view rate_help =
    "give requests per second, such as 2500 or 0.5, at most 1000000000 and with three decimals";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A decimal number as a whole number of 1 / 10^`decimals`; further decimals are refused, or cut off
// when `cut`.
bool parse_decimal(std::string_view text, int decimals, bool cut, std::uint64_t most,
                   std::uint64_t& out) {
    __extension__ unsigned __int128 value = 0;
    int seen_decimals = -1;  // no point yet
    bool digits = false;
    for (const char c : text) {
        if (c == '.' && seen_decimals < 0) {
            seen_decimals = 0;
            continue;
        }
        if (!is_digit(c)) return false;
        digits = true;
        if (seen_decimals >= 0 && seen_decimals++ >= decimals) {
            if (!cut && c != '0') return false;
            continue;
        }
        value = value * 10 + static_cast<unsigned>(c - '0');
        if (value > most) return false;
    }
    for (int i = std::clamp(seen_decimals, 0, decimals); i < decimals; ++i) value *= 10;
    if (!digits || value > most) return false;
    out = static_cast<std::uint64_t>(value);
    return true;
}

std::variant<nanos, std::string> parse_length(std::string_view text) {
    const auto length = parse_duration(text);
    if (!length) return fmt::format("'{}' is not a time with its unit, such as 5s or 500ms", text);
    if (length->count() < 1'000'000) return fmt::format("{} is too short; give at least 1ms", text);
    return length->count();
}

}  // namespace

nanos arrival_plan::length() const {
    if (kind == arrival_kind::recorded) return recorded.empty() ? 0 : recorded.back() + 1;
    nanos sum = 0;
    for (const rate_piece& p : pieces) {
        if (p.length == never) return never;
        sum += p.length;
    }
    return sum;
}

arrivals::arrivals(const arrival_plan& plan, unsigned index, unsigned of, nanos end,
                   std::uint64_t most)
    : plan_(&plan), number_(index), stride_(of), most_(most), end_(end), random_(plan.seed) {
    if (plan.kind == arrival_kind::poisson) {
        for (std::uint64_t i = 0; i <= number_; ++i) at_ += random_step();
    }
    find();
}

void arrivals::pop() {
    number_ += stride_;
    if (plan_->kind == arrival_kind::poisson) {
        for (std::uint64_t i = 0; i < stride_; ++i) at_ += random_step();
    }
    find();
}

void arrivals::find() {
    next_ = never;
    if (number_ >= most_) return;
    nanos at = never;
    switch (plan_->kind) {
    case arrival_kind::constant: at = when(request_count{number_} * one_request); break;
    case arrival_kind::poisson: at = when(at_); break;
    case arrival_kind::recorded:
        if (number_ < plan_->recorded.size())
            at = plan_->recorded[static_cast<std::size_t>(number_)];
        break;
    }
    if (at < end_) next_ = at;
}

nanos arrivals::when(request_count count) {
    for (; piece_ < plan_->pieces.size(); ++piece_) {
        const rate_piece& p = plan_->pieces[piece_];
        if (p.length == never)
            return p.from_milli == 0 ? never : piece_start_ + offset_in(p, count - piece_count_);
        const request_count whole = count_of(p);
        if (count - piece_count_ < whole) return piece_start_ + offset_in(p, count - piece_count_);
        piece_start_ += p.length;
        piece_count_ += whole;
    }
    return never;
}

request_count arrivals::random_step() {
    // 53 random bits as a number in the middle of its 2^-53, so neither 0 nor 1.
    const double u = (static_cast<double>(next_random(random_) >> 11) + 0.5) * 0x1p-53;
    return static_cast<request_count>(-std::log(u) * static_cast<double>(one_request));
}

std::variant<std::uint64_t, std::string> parse_rate(std::string_view text) {
    std::uint64_t milli = 0;
    if (!parse_decimal(text, 3, false, most_rate_milli, milli))
        return fmt::format("'{}' is not a rate; {}", text, rate_help);
    return milli;
}

std::variant<std::vector<rate_piece>, std::string> parse_rate_steps(std::string_view text) {
    std::vector<rate_piece> out;
    nanos sum = 0;
    bool any = false;
    for (std::string_view rest = text;;) {
        const std::string_view step = rest.substr(0, rest.find(','));
        const std::size_t colon = step.find(':');
        if (colon == std::string_view::npos)
            return fmt::format("step {}, '{}': write it as RATE:TIME, such as 1000:5s",
                               out.size() + 1, step);
        const auto rate = parse_rate(step.substr(0, colon));
        if (const auto* wrong = std::get_if<std::string>(&rate))
            return fmt::format("step {}: {}", out.size() + 1, *wrong);
        const auto length = parse_length(step.substr(colon + 1));
        if (const auto* wrong = std::get_if<std::string>(&length))
            return fmt::format("step {}: {}", out.size() + 1, *wrong);
        if (out.size() == most_steps) return fmt::format("more than {} steps", most_steps);
        const std::uint64_t milli = std::get<std::uint64_t>(rate);
        out.push_back({milli, milli, std::get<nanos>(length)});
        any = any || milli != 0;
        sum += out.back().length;
        if (sum > nanos{10} * 365 * 24 * 3600 * 1'000'000'000)
            return std::string("the steps take more than ten years");
        if (step.size() == rest.size()) break;
        rest.remove_prefix(step.size() + 1);
    }
    if (!any) return std::string("every step has the rate 0: nothing would be sent");
    return out;
}

std::variant<std::vector<rate_piece>, std::string> parse_rate_ramp(std::string_view text) {
    const std::size_t first = text.find(':');
    const std::size_t second = first == std::string_view::npos ? first : text.find(':', first + 1);
    if (second == std::string_view::npos)
        return std::string("write it as FROM:TO:TIME, such as 100:5000:30s");
    const auto from = parse_rate(text.substr(0, first));
    if (const auto* wrong = std::get_if<std::string>(&from)) return *wrong;
    const auto to = parse_rate(text.substr(first + 1, second - first - 1));
    if (const auto* wrong = std::get_if<std::string>(&to)) return *wrong;
    const auto length = parse_length(text.substr(second + 1));
    if (const auto* wrong = std::get_if<std::string>(&length)) return *wrong;
    const rate_piece ramp{std::get<std::uint64_t>(from), std::get<std::uint64_t>(to),
                          std::get<nanos>(length)};
    if (ramp.from_milli == 0 && ramp.to_milli == 0)
        return std::string("both rates are 0: nothing would be sent");
    return std::vector<rate_piece>{ramp};
}

std::variant<std::vector<nanos>, std::string> read_arrivals(std::istream& in) {
    constexpr std::uint64_t longest = std::uint64_t{365} * 24 * 3600 * 1'000'000'000;
    std::vector<nanos> out;
    std::array<char, 1024> line;  // a file that is none of ours may have no line ends at all
    for (std::size_t number = 1; in.getline(line.data(), line.size()) || in.gcount() != 0;
         ++number) {
        if (in.fail() && !in.eof())
            return fmt::format("line {}: longer than {} bytes; give one offset a line", number,
                               line.size() - 1);
        std::string_view text(line.data());
        text = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
        text = text.substr(0, text.find_last_not_of(" \t\r") + 1);
        if (text.empty() || text.front() == '#') continue;
        std::uint64_t at = 0;
        if (!parse_decimal(text, 9, true, longest, at)) {
            return fmt::format(
                "line {}: '{}' is not an offset; give seconds from the start, such as 12.0305, at "
                "most a year",
                number, printable(text, 60));
        }
        const nanos offset = static_cast<nanos>(at);
        if (!out.empty() && offset < out.back()) {
            return fmt::format(
                "line {}: {} lies before the line above it; sort the file, as with sort -g", number,
                text);
        }
        if (out.size() == most_recorded)
            return fmt::format("line {}: more than {} arrivals", number, most_recorded);
        out.push_back(offset);
    }
    if (in.bad()) return std::string("cannot be read to its end");
    if (out.empty()) return std::string("holds no offset; give one in seconds on each line");
    return out;
}

}  // namespace wireload
