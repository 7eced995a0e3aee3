// The counts of one thread in one window.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "measure/error_kind.hpp"
#include "measure/histogram.hpp"

namespace wireload {

// Replies to one of several requests in rotation.
struct request_counts {
    std::uint64_t right = 0;
    std::uint64_t wrong = 0;
};

// Requests in flight at a moment.
struct flight {
    std::uint64_t count = 0;
    double age_sum = 0;         // ns
    nanos oldest = 0;           // its age
    std::uint64_t starved = 0;  // older than half of the window
    std::uint64_t silent = 0;   // connections that had no answer in the whole window

    void add(const flight& other) {
        count += other.count;
        age_sum += other.age_sum;
        oldest = std::max(oldest, other.oldest);
        starved += other.starved;
        silent += other.silent;
    }
};

// Of messages that go to every connection. Their deliveries are counted as replies, and what is
// wrong with them among the errors.
struct broadcast_counts {
    std::uint64_t messages = 0;   // sent
    std::uint64_t complete = 0;   // every subscriber got them rightly
    std::uint64_t doubled = 0;    // deliveries of what the subscriber had already
    std::uint64_t reordered = 0;  // deliveries before one that was sent earlier
    std::uint64_t lost = 0;  // deliveries that never came, with those whose connection was lost
    std::uint64_t left = 0;  // subscribers whose connection was lost

    void add(const broadcast_counts& other) {
        messages += other.messages;
        complete += other.complete;
        doubled += other.doubled;
        reordered += other.reordered;
        lost += other.lost;
        left += other.left;
    }
};

struct tally {
    std::uint64_t sent = 0;  // requests begun, those among them that found no connection
    std::uint64_t ok = 0;
    error_counts errors;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    // Open loop: those of them after the schedule's end, while the last replies were waited for.
    std::uint64_t drained_in = 0;
    std::uint64_t drained_out = 0;
    std::uint64_t opened_in_drain = 0;  // likewise, of the connections
    // With --deflate, on connections where it was agreed on: payloads before they were compressed
    // and after they were inflated.
    std::uint64_t payload_in = 0;
    std::uint64_t payload_out = 0;
    std::uint64_t sent_compressed = 0;  // messages
    std::uint64_t connections_opened = 0;
    std::array<std::uint64_t, 900> statuses{};  // 100 to 999: servers use those beyond 599 as well
    nanos last_done = 0;                        // the last reply or error
    nanos ended = 0;                            // the window
    std::optional<error_report> first_error;
    nanos first_error_at = never;

    std::vector<request_counts> by_request;  // empty where there is only one
    broadcast_counts broadcast;

    // Mean number in flight, sampled at random moments (see worker::advance).
    std::uint64_t in_flight_samples = 0;
    std::uint64_t in_flight_sum = 0;
    // To be added to the sum of the latencies for the time that requests spent in flight inside the
    // window: minus what lay before it, plus the time of those that failed or had no answer yet at
    // its end. Of an open loop the latter alone. ns
    double more_in_flight = 0;
    flight at_end;

    void add(const tally& other) {
        sent += other.sent;
        ok += other.ok;
        errors.add(other.errors);
        bytes_in += other.bytes_in;
        bytes_out += other.bytes_out;
        drained_in += other.drained_in;
        drained_out += other.drained_out;
        opened_in_drain += other.opened_in_drain;
        payload_in += other.payload_in;
        payload_out += other.payload_out;
        sent_compressed += other.sent_compressed;
        connections_opened += other.connections_opened;
        for (std::size_t i = 0; i < statuses.size(); ++i) statuses[i] += other.statuses[i];
        if (by_request.size() < other.by_request.size()) by_request.resize(other.by_request.size());
        for (std::size_t i = 0; i < other.by_request.size(); ++i) {
            by_request[i].right += other.by_request[i].right;
            by_request[i].wrong += other.by_request[i].wrong;
        }
        broadcast.add(other.broadcast);
        last_done = std::max(last_done, other.last_done);
        ended = std::max(ended, other.ended);
        in_flight_samples += other.in_flight_samples;
        in_flight_sum += other.in_flight_sum;
        more_in_flight += other.more_in_flight;
        at_end.add(other.at_end);
        if (other.first_error && other.first_error_at < first_error_at) {
            first_error = other.first_error;
            first_error_at = other.first_error_at;
        }
    }
};

}  // namespace wireload
