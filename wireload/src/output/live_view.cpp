#include "output/live_view.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <fmt/format.h>

#include "base/duration.hpp"
#include "output/summary.hpp"

namespace wireload {
namespace {

constexpr nanos second = 1'000'000'000;
constexpr std::size_t most_columns = 100;

// A terminal that takes nothing just now misses a frame; the run goes on.
void put(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
}

std::size_t columns_of(int fd) {
    winsize size{};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

}  // namespace

bool view_is_free(const options& asked, unsigned allowed) {
    // Pinned: the main thread has those CPUs of --cpu that no generator thread is on. Otherwise one
    // CPU is needed for it and one is left to a server on this machine.
    if (!asked.cpus.empty()) return asked.cpus.size() > asked.threads;
    return allowed >= asked.threads + 2;
}

live_view::live_view(const plan& p, series_collector& series, int fd, screen_style style)
    : plan_(p), series_(series), fd_(fd), paint_(style) {
    series_.watch();
    put(fd_, "\x1b[?25l");
}

live_view::~live_view() {
    erase();
    put(fd_, "\x1b[?25h");
}

void live_view::erase() {
    if (drawn_ != 0) put(fd_, fmt::format("\x1b[{}A\r\x1b[J", drawn_));
    drawn_ = 0;
}

void live_view::begin(std::string_view phase, nanos start, nanos end, std::uint64_t count) {
    phase_ = phase;
    start_ = start;
    end_ = end;
    count_ = count;
    rates_until_ = start + second;
    // What came before is not of this phase.
    ok_in_second_ = 0;
    last_take_ = start;
    next_draw_ = 0;
    tick(start);  // a phase that ends at once is seen too
}

void live_view::tick(nanos now) {
    if (now < next_draw_) return;
    next_draw_ = now + draw_every;
    // A line that fills the last column may wrap.
    const std::string text =
        lines(now, std::clamp<std::size_t>(columns_of(fd_), 20, most_columns) - 1);
    std::string frame = drawn_ != 0 ? fmt::format("\x1b[{}A\r", drawn_) : "\r";
    drawn_ = 0;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = rest.find('\n');
        frame += fmt::format("{}\x1b[K\n", rest.substr(0, end));
        rest.remove_prefix(end + 1);
        ++drawn_;
    }
    put(fd_, frame + "\x1b[J");
}

void live_view::take(nanos now) {
    slice fresh{series_.take_new(), last_take_, now};
    ok_ += fresh.data.ok;
    errors_ += fresh.data.errors;
    rounds_ += fresh.data.intervals;
    // A second without a look at the series counts with the next one.
    ok_in_second_ += fresh.data.ok;
    if (now >= rates_until_ && now > start_) {
        const double length =
            static_cast<double>(now - (rates_until_ - second)) / static_cast<double>(second);
        rates_.push_back(static_cast<double>(ok_in_second_) / length);
        if (rates_.size() > most_columns) rates_.pop_front();
        ok_in_second_ = 0;
        rates_until_ = now + second;
    }
    if (fresh.data.intervals != 0) {
        last_take_ = now;
        last_second_.push_back(std::move(fresh));
    }
    while (last_second_.size() > 1 && last_second_.front().taken <= now - second)
        last_second_.pop_front();
}

std::string live_view::progress(nanos now, std::size_t columns) const {
    const double passed = static_cast<double>(std::max<nanos>(0, now - start_));
    std::optional<double> share;
    std::string left;
    if (end_ != never) {
        share = passed / std::max(1.0, static_cast<double>(end_ - start_));
        left = fmt::format(", {:.0f} s left", std::max(0.0, static_cast<double>(end_ - now) / 1e9));
    }
    if (count_ != 0) {
        // The first of time and count ends it.
        const double counted = static_cast<double>(ok_ + errors_) / static_cast<double>(count_);
        if (!share || counted > *share) {
            share = counted;
            left = counted > 0 ? fmt::format(", {:.0f} s left",
                                             std::max(0.0, passed / 1e9 * (1 / counted - 1)))
                               : "";
        }
    }
    std::string out = fmt::format("{} {:.1f} s{}", phase_, passed / 1e9, left);
    if (out.size() > columns) out.resize(columns);
    if (share && columns > out.size() + 14)
        out += fmt::format(
            "  {}",
            paint_.cyan(paint_.bar(*share, std::min<std::size_t>(40, columns - out.size() - 2))));
    return out;
}

std::string live_view::sparkline(std::size_t columns) const {
    const std::size_t shown = std::min(columns, rates_.size());
    const double most =
        rates_.empty()
            ? 0
            : *std::max_element(rates_.end() - static_cast<std::ptrdiff_t>(shown), rates_.end());
    std::string out;
    for (std::size_t i = rates_.size() - shown; i < rates_.size(); ++i)
        out += paint_.column(most > 0 ? rates_[i] / most : 0);
    return out;
}

std::string live_view::lines(nanos now, std::size_t columns) {
    take(now);
    const auto cut = [&](std::string text) {
        return text.size() > columns ? text.substr(0, columns) : text;
    };
    std::string out =
        fmt::format("{}\n{}\n", paint_.bold(cut(plan_.asked.url)), progress(now, columns));
    histogram last;
    std::uint64_t ok = 0;
    nanos span = 0;
    // Intervals are of one length; the rounds of a ramp are not.
    const nanos each =
        plan_.asked.turns ? plan_.asked.turns->measured() : plan_.asked.interval.count();
    for (const slice& s : last_second_) {
        last.merge(s.data.latencies);
        ok += s.data.ok;
        span += plan_.asked.ramp ? s.taken - s.from : static_cast<nanos>(s.data.intervals) * each;
    }
    if (plan_.asked.ramp) {
        out +=
            cut(fmt::format("round {} of {}: {} connections",
                            std::min<std::uint64_t>(rounds_ + 1, plan_.asked.ramp->rounds),
                            plan_.asked.ramp->rounds,
                            grouped(std::min<std::uint64_t>(rounds_ + 1, plan_.asked.ramp->rounds) *
                                    plan_.asked.ramp->add))) +
            "\n";
    }
    if (last_second_.empty() && ok_ + errors_ == 0) return out;
    const double rate = span > 0 ? static_cast<double>(ok) * 1e9 / static_cast<double>(span) : 0;
    const std::string requests =
        cut(fmt::format("{}  {:>11}  ", plan_.asked.websocket ? "messages/s" : "requests/s",
                        grouped(static_cast<std::uint64_t>(rate))));
    out += requests +
           paint_.cyan(sparkline(columns > requests.size() ? columns - requests.size() : 0)) + "\n";
    out += cut(fmt::format(
               "last second  p50 {}, p90 {}, p99 {}, max {}", time_or_dash(last.percentile_ns(50)),
               time_or_dash(last.supported_percentile_ns(90)),
               time_or_dash(last.supported_percentile_ns(99)), time_or_dash(last.max_ns()))) +
           "\n";
    const std::string counts =
        cut(fmt::format("right {}, errors {}", grouped(ok_), grouped(errors_)));
    const std::size_t errors_at = std::min(counts.find("errors"), counts.size());
    out += counts.substr(0, errors_at) +
           (errors_ != 0 ? paint_.red(counts.substr(errors_at)) : counts.substr(errors_at)) + "\n";
    return out;
}

}  // namespace wireload
