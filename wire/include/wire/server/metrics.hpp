// Counts of what a server does, as Prometheus reads them.
//
//     auto counts = std::make_shared<http::metrics>();
//     options.metrics = counts;
//     routes.get("/metrics", [counts](http::response res) {
//         res.content_type(http::metrics::content_type).send(counts->text());
//     });
//
// Each loop counts for itself, without locks; reading adds them up. One object may serve several
// servers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "wire/base/export.hpp"

namespace wire::http {

class metrics;

namespace detail {
struct loop_metrics;
// The counters of one loop, which only that loop's thread may write. They stay as long as `of`.
WIRE_EXPORT loop_metrics& add_loop(metrics& of);
}  // namespace detail

// The counters of all servers that it was given to. Any thread may use it. A loop's counts stay
// when its server has gone: totals never fall.
class WIRE_EXPORT metrics {
public:
    metrics();
    ~metrics();
    metrics(const metrics&) = delete;
    metrics& operator=(const metrics&) = delete;

    // The Content-Type of text().
    static constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";

    // All counters in Prometheus' text exposition format 0.0.4; they begin at 0 when this object is
    // made. The counts are read one after another while loops go on counting.
    //
    // - wire_connections_open, wire_connections_accepted_total,
    //   wire_connections_refused_total{reason}: max_connections also counts those that a loop
    //   cannot hold (loop_options::max_streams)
    // - wire_handshake_failures_total: connections that ended in their TLS handshake, those that a
    //   time limit ended included
    // - wire_requests_total{method,status}: by class of status, "2xx"; "none" for requests whose
    //   connection ended before an answer
    // - wire_request_duration_seconds: a histogram of the time from a request's head to the end of
    //   its response, or of the WebSocket or tunnel that it began
    // - wire_received_bytes_total, wire_sent_bytes_total: of requests and responses, before TLS
    // - wire_timeouts_total{phase}: time limits that have passed
    // - wire_limits_total{limit}: requests refused for exceeding a limit
    // - wire_exceptions_total: exceptions that left handlers, middleware and callbacks of bodies
    // - wire_websocket_sessions_open, wire_websocket_sessions_total,
    //   wire_websocket_messages_total{direction}
    std::string text() const;

private:
    friend detail::loop_metrics& detail::add_loop(metrics& of);
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wire::http
