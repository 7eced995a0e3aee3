#include "law.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/duration.hpp"

namespace truth {
namespace {

class constant final : public law {
public:
    explicit constant(nanos delay) : delay_(delay) {}
    nanos due(std::uint64_t, nanos received) override { return received + delay_; }

private:
    nanos delay_;
};

class slow final : public law {
public:
    slow(std::uint64_t every, nanos delay) : every_(every), delay_(delay) {}
    nanos due(std::uint64_t index, nanos received) override {
        return (index + 1) % every_ == 0 ? received + delay_ : received;
    }

private:
    std::uint64_t every_;
    nanos delay_;
};

class bimodal final : public law {
public:
    bimodal(nanos usual, nanos other, std::uint64_t percent)
        : usual_(usual), other_(other), percent_(percent) {}
    nanos due(std::uint64_t index, nanos received) override {
        // Evenly spread, so that the share is exact: the running total of `percent` passes a
        // hundred.
        const std::uint64_t in_hundred = index % 100;
        const bool other = (in_hundred + 1) * percent_ / 100 > in_hundred * percent_ / 100;
        return received + (other ? other_ : usual_);
    }

private:
    nanos usual_;
    nanos other_;
    std::uint64_t percent_;
};

class drift final : public law {
public:
    drift(nanos from, nanos to, nanos over) : from_(from), to_(to), over_(over) {}
    nanos due(std::uint64_t, nanos received) override {
        const double share =
            static_cast<double>(std::min(received, over_)) / static_cast<double>(over_);
        return received + from_ + static_cast<nanos>(static_cast<double>(to_ - from_) * share);
    }

private:
    nanos from_;
    nanos to_;
    nanos over_;
};

// A queue with one server that takes holidays. It has a service time because answering all that
// waited takes time on any machine: a stated one can be put into a formula, the machine's own
// cannot.
class freeze final : public law {
public:
    freeze(nanos length, nanos period, nanos service)
        : length_(length), period_(period), service_(service) {}
    nanos due(std::uint64_t, nanos received) override {
        const nanos start = std::max(received, free_);
        const nanos freezes_at = start - start % period_ + period_ - length_;
        // Also what would still be in service then: during a freeze nothing leaves.
        free_ = start + service_ > freezes_at ? freezes_at + length_ + service_ : start + service_;
        return free_;
    }

private:
    nanos length_;
    nanos period_;
    nanos service_;
    nanos free_ = 0;
};

constexpr std::string_view known =
    "expected one of: constant D; slow N D; bimodal D1 D2 PERCENT; drift D0 D1 T; freeze LENGTH "
    "PERIOD SERVICE";

// Takes the words of a law one after the other and keeps the first complaint.
class reader {
public:
    explicit reader(const std::vector<std::string>& words) : words_(words) {}

    nanos duration(std::string_view what) {
        const std::string word = next();
        const auto value = wireload::parse_duration(word);
        if (!value)
            complain(fmt::format("{}: expected a duration such as 10ms, got '{}'", what, word));
        return value ? value->count() : 1;
    }
    std::uint64_t number(std::string_view what, std::uint64_t least, std::uint64_t most) {
        const std::string word = next();
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error == std::errc() && end == word.data() + word.size() && value >= least &&
            value <= most)
            return value;
        complain(
            fmt::format("{}: expected a number from {} to {}, got '{}'", what, least, most, word));
        return least;
    }
    void require(bool holds, std::string_view what) {
        if (!holds) complain(std::string(what));
    }
    std::optional<std::string> problem() {
        if (at_ != words_.size())
            complain(fmt::format("{}: expected {} words, got {}; {}", words_[0], at_, words_.size(),
                                 known));
        return problem_;
    }

private:
    std::string next() { return at_ < words_.size() ? words_[at_++] : (++at_, std::string()); }
    void complain(std::string text) {
        if (!problem_) problem_ = std::move(text);
    }

    const std::vector<std::string>& words_;
    std::size_t at_ = 1;
    std::optional<std::string> problem_;
};

std::unique_ptr<law> read_law(const std::string& name, reader& r) {
    if (name == "constant") return std::make_unique<constant>(r.duration("D"));
    if (name == "slow") {
        const std::uint64_t every = r.number("N", 1, 1'000'000'000);
        return std::make_unique<slow>(every, r.duration("D"));
    }
    if (name == "bimodal") {
        const nanos usual = r.duration("D1");
        const nanos other = r.duration("D2");
        return std::make_unique<bimodal>(usual, other, r.number("PERCENT", 0, 100));
    }
    if (name == "drift") {
        const nanos from = r.duration("D0");
        const nanos to = r.duration("D1");
        const nanos over = r.duration("T");
        r.require(over > 0, "T: expected more than 0");
        return std::make_unique<drift>(from, to, std::max<nanos>(over, 1));
    }
    const nanos length = r.duration("LENGTH");
    const nanos period = r.duration("PERIOD");
    const nanos service = r.duration("SERVICE");
    const bool fits = length > 0 && length + service < period;
    r.require(fits, "LENGTH: expected more than 0, and with SERVICE less than PERIOD");
    return fits ? std::make_unique<freeze>(length, period, service) : nullptr;
}

}  // namespace

std::variant<std::unique_ptr<law>, std::string> parse_law(const std::vector<std::string>& words) {
    constexpr std::string_view names[] = {"constant", "slow", "bimodal", "drift", "freeze"};
    if (words.empty() || std::find(std::begin(names), std::end(names), words[0]) == std::end(names))
        return std::string(known);
    reader r(words);
    std::unique_ptr<law> made = read_law(words[0], r);
    if (const auto problem = r.problem()) return *problem;
    return made;
}

answer answer_of(const faults& f, std::uint64_t index) {
    const auto is_nth = [index](std::uint64_t n) { return n != 0 && (index + 1) % n == 0; };
    if (is_nth(f.drop)) return answer::drop;
    if (is_nth(f.status)) return answer::status;
    if (is_nth(f.body)) return answer::body;
    if (is_nth(f.length)) return answer::length;
    return answer::right;
}

}  // namespace truth
