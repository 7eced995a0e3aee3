// Reads the options of an open loop: rates, arrivals, and their limits.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <utility>
#include <variant>

#include "base/duration.hpp"
#include "command_line/readers.hpp"
#include "command_line/usage.hpp"

namespace wireload {
namespace {

// The value that was parsed from `flag`; refuses a wrong one.
template <typename T> T take(std::string_view flag, std::variant<T, std::string> parsed) {
    if (const auto* wrong = std::get_if<std::string>(&parsed)) refuse("{}: {}", flag, *wrong);
    return std::get<T>(std::move(parsed));
}

std::vector<rate_piece> read_rates(const given_options& given) {
    if (given.has("--rate-steps"))
        return take("--rate-steps", parse_rate_steps(given.raw.rate_steps));
    if (given.has("--rate-ramp")) return take("--rate-ramp", parse_rate_ramp(given.raw.rate_ramp));
    const std::uint64_t milli = take("--rate", parse_rate(given.raw.rate));
    if (milli == 0) refuse("--rate 0: nothing would be sent; give more than 0");
    return {{milli, milli, never}};
}

void read_limits(const given_options& given, open_loop_options& open) {
    if (given.has("--max-in-flight")) {
        open.max_in_flight = number("--max-in-flight", given.raw.max_in_flight, 1, 1'000'000'000);
    }
    if (given.has("--deadline"))
        open.deadline = duration("--deadline", given.raw.deadline, std::chrono::microseconds(1));
    if (given.has("--spin")) {
        one_of("--spin", given.raw.spin);
        open.spin = given.raw.spin == "always"  ? spin_mode::always
                    : given.raw.spin == "never" ? spin_mode::never
                                                : spin_mode::automatic;
    }
}

void read_omission(const given_options& given, options& out) {
    if (!given.has("--correct-omission")) return;
    out.correct_omission = parse_duration(given.raw.correct_omission);
    if (!out.correct_omission || out.correct_omission->count() < 1'000) {
        refuse(
            "--correct-omission {}: give the time between two requests of a connection, such as "
            "10ms",
            given.raw.correct_omission);
    }
    for (const char* name :
         {"--rate", "--rate-steps", "--rate-ramp", "--arrivals", "--ramp-rounds"}) {
        if (given.has(name)) {
            refuse(
                "--correct-omission guesses, for a closed loop, what an open loop measures; leave "
                "it out with {}",
                name);
        }
    }
}

// Whether --arrivals names a file.
bool is_recorded(const given_options& given) {
    return given.has("--arrivals") && given.raw.arrivals != "constant" &&
           given.raw.arrivals != "poisson";
}

// False for a closed loop.
bool wants_open_loop(const given_options& given, const options& out) {
    const int rates = given.has("--rate") + given.has("--rate-steps") + given.has("--rate-ramp");
    if (rates == 0 && !given.has("--arrivals")) {
        for (const char* name : {"--max-in-flight", "--deadline", "--spin"}) {
            if (given.has(name)) {
                refuse(
                    "{} belongs to an open loop; say when requests are due with --rate, "
                    "--rate-steps, --rate-ramp or --arrivals FILE",
                    name);
            }
        }
        return false;
    }
    if (given.has("--ramp-rounds"))
        refuse(
            "--ramp-rounds sends its messages in rounds and not at a rate; leave out one of the "
            "two");
    if (out.each)
        refuse(
            "--each counts by connection, and at a rate any free one sends; give --requests or "
            "--duration");
    if (rates > 1)
        refuse(
            "--rate, --rate-steps and --rate-ramp are three ways to give the rate; give one of "
            "them");
    if (rates == 0 && !is_recorded(given))
        refuse("--arrivals {}: how many a second? add --rate, --rate-steps or --rate-ramp",
               given.raw.arrivals);
    if (rates != 0 && is_recorded(given)) {
        refuse(
            "--arrivals {} is taken for a file, which says when each request is due; leave out the "
            "rate (or give constant or poisson)",
            given.raw.arrivals);
    }
    return true;
}

void read_recorded(const std::string& path, const options& out, open_loop_options& open) {
    open.arrivals.kind = arrival_kind::recorded;
    std::ifstream file(path);
    if (!file) {
        refuse(
            "--arrivals {}: cannot open this file: {}; give constant, poisson or a file of offsets "
            "in seconds",
            path, std::strerror(errno));
    }
    open.arrivals.recorded = take(fmt::format("--arrivals {}", path), read_arrivals(file));
    if (out.warmup.count() > 0)
        refuse(
            "--warmup: a recorded file is replayed from its first line on; leave out the warm-up, "
            "or record it");
}

}  // namespace

void read_open_loop(const given_options& given, options& out) {
    read_omission(given, out);
    if (!wants_open_loop(given, out)) return;
    open_loop_options open;
    open.name = given.has("--arrivals") ? given.raw.arrivals : "constant";
    if (is_recorded(given)) {
        read_recorded(given.raw.arrivals, out, open);
    } else {
        open.arrivals.kind =
            open.name == "poisson" ? arrival_kind::poisson : arrival_kind::constant;
        open.arrivals.pieces = read_rates(given);
        open.warm_up.kind = open.arrivals.kind;
        const std::uint64_t first = open.arrivals.pieces.front().from_milli;
        open.warm_up.pieces.push_back({first, first, never});
        if (const nanos length = open.arrivals.length(); length != never) {
            for (const char* name : {"--duration", "--requests"}) {
                if (given.has(name)) {
                    refuse("{}: the rate is given for a time of its own, {}; leave one out", name,
                           format_duration(static_cast<double>(length)));
                }
            }
            out.duration = std::chrono::nanoseconds(length);
        }
    }
    read_limits(given, open);
    out.open_loop = std::move(open);
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
