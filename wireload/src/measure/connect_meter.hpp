// Counts and times the connections that one thread opens: how many, how long each step took, and
// what the handshakes agreed on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "measure/connect_phases.hpp"
#include "measure/error_kind.hpp"
#include "measure/histogram.hpp"

namespace wireload {

// How the connections of one order fared.
struct connect_tally {
    std::uint64_t attempted = 0;
    std::uint64_t opened = 0;
    std::uint64_t open_now = 0;  // when the order was done
    error_counts errors;
    nanos last_opened = 0;
    std::optional<error_report> first_error;
};

class connect_meter {
public:
    // Whether openings count at present: in the connect phase, and without keep-alive in the load.
    void count(bool on) { counting_ = on; }
    // Forgets all but what the handshakes agreed on, which is of the whole run.
    void clear() {
        counts_ = {};
        latencies_.clear();
        phases_.clear();
    }

    void connecting() {
        if (counting_) ++counts_.attempted;
    }
    void tcp_opened(nanos latency) {
        if (counting_) phases_.tcp.record(static_cast<std::uint64_t>(latency));
    }
    void tls_opened(nanos latency, const wire::tls::connection_info& info) {
        if (counting_) phases_.tls.record(static_cast<std::uint64_t>(latency));
        tls_.count(info);
    }
    void upgraded(nanos latency) {
        if (counting_) phases_.upgrade.record(static_cast<std::uint64_t>(latency));
    }
    void first_byte_came(nanos latency) {
        if (counting_) phases_.first_byte.record(static_cast<std::uint64_t>(latency));
    }
    // The connection is ready for requests, `latency` after it was begun.
    void session_opened(nanos latency, nanos at) {
        if (!counting_) return;
        ++counts_.opened;
        counts_.last_opened = at;
        latencies_.record(static_cast<std::uint64_t>(std::max<nanos>(latency, 0)));
    }
    void failed(error_kind kind) { ++counts_.errors[kind]; }
    void count_deflate(bool agreed) { ++(agreed ? deflate_.with : deflate_.without); }
    void note_open(std::uint64_t open_now) { counts_.open_now = open_now; }
    bool wants_report() const { return !counts_.first_error; }
    void report(error_report&& first) { counts_.first_error = std::move(first); }

    const connect_tally& counts() const { return counts_; }
    const histogram& latencies() const { return latencies_; }
    const connect_phases& phases() const { return phases_; }
    const tls_tally& tls() const { return tls_; }
    const deflate_tally& deflated() const { return deflate_; }

private:
    bool counting_ = false;
    connect_tally counts_;
    histogram latencies_;
    connect_phases phases_;
    tls_tally tls_;
    deflate_tally deflate_;
};

}  // namespace wireload
