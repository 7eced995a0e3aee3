// Reads how much is sent and when it ends: the options of LOAD, RAMP, TURNS and PARTS.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/clock.hpp"
#include "command_line/readers.hpp"
#include "command_line/usage.hpp"

namespace wireload {
namespace {

using std::chrono::nanoseconds;

void read_ramp(const given_options& given, options& out) {
    for (const char* name : {"--connections", "--requests", "--each", "--duration", "--warmup",
                             "--pipeline", "--no-keepalive", "--interval"}) {
        if (given.has(name)) {
            refuse(
                "{} has no meaning in a ramp; its load is --ramp-rounds, --ramp-add, "
                "--ramp-messages and --ramp-pacing",
                name);
        }
    }
    ramp_options ramp;
    ramp.rounds = number32("--ramp-rounds", given.raw.ramp_rounds, 1, 100'000);
    if (given.has("--ramp-add"))
        ramp.add = number32("--ramp-add", given.raw.ramp_add, 1, 1'000'000);
    if (given.has("--ramp-messages")) {
        ramp.messages = number32("--ramp-messages", given.raw.ramp_messages, 1, 65'536);
    }
    if (given.has("--ramp-pacing")) {
        one_of("--ramp-pacing", given.raw.ramp_pacing);
        ramp.pacing = given.raw.ramp_pacing == "burst" ? ramp_pacing::burst : ramp_pacing::serial;
    }
    if (std::uint64_t{ramp.rounds} * ramp.add > 1'000'000) {
        refuse("--ramp-rounds {} with --ramp-add {} ends at {} connections; the most is 1000000",
               ramp.rounds, ramp.add, std::uint64_t{ramp.rounds} * ramp.add);
    }
    out.connections = ramp.rounds * ramp.add;
    out.in_flight = ramp.pacing == ramp_pacing::burst ? ramp.messages : 1;
    if (!given.has("--timeout")) out.timeout = std::chrono::seconds(30);
    out.ramp = ramp;
}

// "K/N": the number K, from 1, of N, which is `most` at most.
std::pair<std::uint32_t, std::uint32_t> number_of(std::string_view flag, const std::string& text,
                                                  std::uint32_t most) {
    const std::size_t slash = text.find('/');
    if (slash == text.npos)
        refuse("{}: expected K/N, such as 1/2 for the first of two, got '{}'", flag, text);
    const std::uint32_t of = number32(fmt::format("{}: N", flag), text.substr(slash + 1), 1, most);
    return {number32(fmt::format("{}: K", flag), text.substr(0, slash), 1, of), of};
}

void read_turns(const given_options& given, options& out) {
    for (const char* name :
         {"--requests", "--each", "--ramp-rounds", "--rate", "--arrivals", "--rate-steps",
          "--rate-ramp", "--idle", "--correct-omission", "--interval"}) {
        if (given.has(name))
            refuse("{} has no meaning in turns, which are a closed loop for the time of --duration",
                   name);
    }
    turn_options turns;
    std::tie(turns.number, turns.of) = number_of("--turns", given.raw.turns, most_turns);
    if (given.has("--turn")) {
        turns.length = duration("--turn", given.raw.turn, std::chrono::milliseconds(1));
        if (turns.length > std::chrono::minutes(1))
            refuse("--turn: expected at most 1m, got {}", given.raw.turn);
    }
    out.turns = turns;
}

void read_part(const given_options& given, options& out) {
    for (const char* name : {"--turns", "--ramp-rounds", "--idle", "--broadcast"}) {
        if (given.has(name))
            refuse("{} has no meaning with --part, which divides a rate or --requests", name);
    }
    std::tie(out.part.number, out.part.of) = number_of("--part", given.raw.part, most_parts);
    if (out.requests && *out.requests < out.part.of)
        refuse("--requests {}: fewer than the {} parts; give one for each at least", *out.requests,
               out.part.of);
}

void read_start(const given_options& given, options& out) {
    for (const char* name : {"--turns", "--ramp-rounds", "--idle"}) {
        if (given.has(name))
            refuse("{} has no meaning with --start, which is for a load of one window", name);
    }
    start_options start;
    if (given.raw.start != "-") {
        start.at =
            static_cast<nanos>(number("--start", given.raw.start, 1, std::uint64_t{INT64_MAX}));
    }
    out.start = start;
}

void refuse_beside_broadcast(const given_options& given, const options& out) {
    if (!out.websocket)
        refuse("--broadcast is for ws URLs: HTTP has no messages to all connections");
    if (out.urls.size() > 1)
        refuse("--broadcast goes to the connections of one server; give one URL");
    for (const char* name : {"--each", "--no-keepalive", "--ramp-rounds", "--turns", "--rate",
                             "--arrivals", "--rate-steps", "--rate-ramp", "--correct-omission",
                             "--message-size", "--deflate", "--check"}) {
        if (given.has(name))
            refuse(
                "{} has no meaning with --broadcast, which sends the next message when all "
                "have the one before, and knows what each is to get",
                name);
    }
}

void refuse_beside_idle(const given_options& given, const options& out) {
    for (const char* name : {"--requests",
                             "--each",
                             "--warmup",
                             "--pipeline",
                             "--no-keepalive",
                             "--ramp-rounds",
                             "--rate",
                             "--arrivals",
                             "--rate-steps",
                             "--rate-ramp",
                             "--broadcast",
                             "--requests-file",
                             "--message",
                             "--message-file",
                             "--message-size",
                             "--check",
                             "--binary",
                             "--method",
                             "--body",
                             "--body-file",
                             "--expect-status",
                             "--expect-body",
                             "--expect-body-file",
                             "--expect-header",
                             "--expect-length",
                             "--expect-sha256",
                             "--expect-match",
                             "--expect-json",
                             "--correct-omission",
                             "--print"}) {
        if (given.has(name))
            refuse(
                "{} has no meaning with --idle, which sends nothing; how long is said by "
                "--duration",
                name);
    }
    // A WebSocket is opened by a request, which has fields.
    if (!out.websocket && given.has("--header"))
        refuse("--header has no meaning with --idle, which sends nothing to an http URL");
}

}  // namespace

void read_load(const given_options& given, options& out) {
    if (given.has("--connections")) {
        out.connections = number32("--connections", given.raw.connections, 1, 1'000'000);
    }
    if (given.has("--requests"))
        out.requests = number("--requests", given.raw.requests, 1, UINT64_MAX / 4);
    if (given.has("--each"))
        out.each = number("--each", given.raw.each, 1, UINT64_MAX / 4 / 1'000'000);
    if (given.has("--duration"))
        out.duration = duration("--duration", given.raw.duration, std::chrono::milliseconds(1));
    if (given.has("--warmup")) out.warmup = duration("--warmup", given.raw.warmup, nanoseconds(0));
    if (given.has("--timeout"))
        out.timeout = duration("--timeout", given.raw.timeout, std::chrono::milliseconds(1));
    if (given.has("--pipeline"))
        out.in_flight = number32("--pipeline", given.raw.pipeline, 1, 65'536);
    out.keep_alive = !given.raw.no_keepalive;
    if (out.requests && out.each)
        refuse("--requests is a total and --each a count for one connection; give one of them");
    if (!out.keep_alive && out.in_flight > 1) {
        refuse(
            "--pipeline needs connections that stay open; leave out --no-keepalive or --pipeline");
    }

    read_open_loop(given, out);
    for (const char* name : {"--ramp-add", "--ramp-messages", "--ramp-pacing"}) {
        if (given.has(name) && !given.has("--ramp-rounds"))
            refuse("{} belongs to a ramp; say how many rounds with --ramp-rounds", name);
    }
    if (given.has("--ramp-rounds")) {
        read_ramp(given, out);
    } else {
        const bool ends = out.open_loop && out.open_loop->arrivals.length() != never;
        if (!out.requests && !out.each && !out.duration && !ends)
            out.duration = std::chrono::seconds(10);
    }
    if (given.has("--turn") && !given.has("--turns"))
        refuse("--turn belongs to --turns; say which of how many this is with --turns K/N");
    if (given.has("--turns")) read_turns(given, out);
    if (given.has("--part")) read_part(given, out);
    if (given.has("--start")) read_start(given, out);
}

// After the rest of the load: what does not go together with it.
void read_connection_use(const given_options& given, options& out) {
    if (given.has("--per-connection")) {
        if (out.keep_alive) refuse("--per-connection belongs to --no-keepalive; give both");
        if (out.open_loop)
            refuse(
                "--per-connection has no meaning in an open loop, where a request without "
                "keep-alive opens its own connection");
        out.per_connection = number32("--per-connection", given.raw.per_connection, 1, UINT32_MAX);
    }
    out.broadcast = given.raw.broadcast;
    if (out.broadcast) refuse_beside_broadcast(given, out);
    out.idle = given.raw.idle;
    if (!out.idle) return;
    refuse_beside_idle(given, out);
}

}  // namespace wireload
