#include "command_line/open_loop_options.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "base/duration.hpp"

namespace wireload {
namespace {

// Reads into `out`, or says what is wrong with the value of `flag`.
template <typename T>
std::string take(std::string_view flag, std::variant<T, std::string> parsed, T& out) {
    if (const auto* wrong = std::get_if<std::string>(&parsed))
        return fmt::format("{}: {}", flag, *wrong);
    out = std::get<T>(std::move(parsed));
    return {};
}

std::string read_rates(const raw_options& raw, const std::function<bool(const char*)>& given,
                       open_loop_options& open) {
    std::vector<rate_piece>& pieces = open.arrivals.pieces;
    if (given("--rate-steps"))
        return take("--rate-steps", parse_rate_steps(raw.rate_steps), pieces);
    if (given("--rate-ramp")) return take("--rate-ramp", parse_rate_ramp(raw.rate_ramp), pieces);
    std::uint64_t milli = 0;
    if (std::string wrong = take("--rate", parse_rate(raw.rate), milli); !wrong.empty())
        return wrong;
    if (milli == 0) return "--rate 0: nothing would be sent; give more than 0";
    pieces.push_back({milli, milli, never});
    return {};
}

std::string read_limits(const raw_options& raw, const std::function<bool(const char*)>& given,
                        open_loop_options& open) {
    if (given("--max-in-flight")) {
        const std::string& text = raw.max_in_flight;
        std::uint64_t value = 0;
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (failure != std::errc() || end != text.data() + text.size() || value == 0 ||
            value > 1'000'000'000) {
            return fmt::format("--max-in-flight {}: give a whole number from 1 to 1000000000",
                               text);
        }
        open.max_in_flight = value;
    }
    if (given("--deadline")) {
        open.deadline = parse_duration(raw.deadline);
        if (!open.deadline || open.deadline->count() < 1'000) {
            return fmt::format("--deadline {}: give a time with its unit, such as 500ms or 2s",
                               raw.deadline);
        }
    }
    if (given("--spin")) {
        if (raw.spin != "auto" && raw.spin != "always" && raw.spin != "never") {
            return fmt::format("--spin {}: give auto, always or never", raw.spin);
        }
        open.spin = raw.spin == "always"  ? spin_mode::always
                    : raw.spin == "never" ? spin_mode::never
                                          : spin_mode::automatic;
    }
    return {};
}

}  // namespace

std::string read_open_loop(const raw_options& raw, const std::function<bool(const char*)>& given,
                           options& out) {
    if (given("--correct-omission")) {
        out.correct_omission = parse_duration(raw.correct_omission);
        if (!out.correct_omission || out.correct_omission->count() < 1'000) {
            return fmt::format(
                "--correct-omission {}: give the time between two requests of a connection, such "
                "as 10ms",
                raw.correct_omission);
        }
        for (const char* name :
             {"--rate", "--rate-steps", "--rate-ramp", "--arrivals", "--ramp-rounds"}) {
            if (given(name))
                return fmt::format(
                    "--correct-omission guesses, for a closed loop, what an open loop measures; "
                    "leave it out with {}",
                    name);
        }
    }
    const int rates = given("--rate") + given("--rate-steps") + given("--rate-ramp");
    const bool recorded =
        given("--arrivals") && raw.arrivals != "constant" && raw.arrivals != "poisson";
    if (rates == 0 && !given("--arrivals")) {
        for (const char* name : {"--max-in-flight", "--deadline", "--spin"}) {
            if (given(name))
                return fmt::format(
                    "{} belongs to an open loop; say when requests are due with --rate, "
                    "--rate-steps, --rate-ramp or --arrivals FILE",
                    name);
        }
        return {};
    }
    if (given("--ramp-rounds"))
        return "--ramp-rounds sends its messages in rounds and not at a rate; leave out one of the "
               "two";
    if (out.each)
        return "--each counts by connection, and at a rate any free one sends; give --requests or "
               "--duration";
    if (rates > 1)
        return "--rate, --rate-steps and --rate-ramp are three ways to give the rate; give one of "
               "them";
    if (rates == 0 && !recorded)
        return fmt::format(
            "--arrivals {}: how many a second? add --rate, --rate-steps or --rate-ramp",
            raw.arrivals);
    if (recorded && rates != 0) {
        return fmt::format(
            "--arrivals {} is taken for a file, which says when each request is due; leave out the "
            "rate (or give constant or poisson)",
            raw.arrivals);
    }

    open_loop_options open;
    open.name = recorded ? raw.arrivals : given("--arrivals") ? raw.arrivals : "constant";
    if (recorded) {
        open.arrivals.kind = arrival_kind::recorded;
        std::ifstream file(raw.arrivals);
        if (!file)
            return fmt::format(
                "--arrivals {}: cannot open this file: {}; give constant, poisson or a file of "
                "offsets in seconds",
                raw.arrivals, std::strerror(errno));
        if (std::string wrong = take(fmt::format("--arrivals {}", raw.arrivals),
                                     read_arrivals(file), open.arrivals.recorded);
            !wrong.empty())
            return wrong;
        if (out.warmup.count() > 0)
            return "--warmup: a recorded file is replayed from its first line on; leave out the "
                   "warm-up, or record it";
    } else {
        open.arrivals.kind =
            open.name == "poisson" ? arrival_kind::poisson : arrival_kind::constant;
        if (std::string wrong = read_rates(raw, given, open); !wrong.empty()) return wrong;
        open.warm_up.kind = open.arrivals.kind;
        const std::uint64_t first = open.arrivals.pieces.front().from_milli;
        open.warm_up.pieces.push_back({first, first, never});
        if (const nanos length = open.arrivals.length(); length != never) {
            for (const char* name : {"--duration", "--requests"}) {
                if (given(name))
                    return fmt::format(
                        "{}: the rate is given for a time of its own, {}; leave one out", name,
                        format_duration(static_cast<double>(length)));
            }
            out.duration = std::chrono::nanoseconds(length);
        }
    }
    if (std::string wrong = read_limits(raw, given, open); !wrong.empty()) return wrong;
    out.open_loop = std::move(open);
    return {};
}

void complete_open_loop(options& out) {
    if (!out.open_loop) return;
    out.open_loop->arrivals.seed = out.seed;
    out.open_loop->warm_up.seed = ~out.seed;
    // Each thread has its own share of what may be in flight.
    if (const auto most = out.open_loop->max_in_flight)
        out.threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(out.threads, *most));
}

}  // namespace wireload
