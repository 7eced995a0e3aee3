// Counts of what a server does, as Prometheus reads them.
//
//     auto counts = std::make_shared<http::metrics>();
//     options.metrics = counts;
//     routes.get("/metrics", [counts](http::response res) {
//     res.content_type(http::metrics::content_type).send(counts->text()); });
//
// Each loop counts for itself, without locks; reading adds them up. One object may serve several
// servers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace wire::http {

namespace detail {
struct loop_metrics;
class worker;
}  // namespace detail

class metrics {
public:
    metrics();
    ~metrics();
    metrics(const metrics&) = delete;
    metrics& operator=(const metrics&) = delete;

    static constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";

    // Any thread: the text exposition format 0.0.4. All counters count from the making of this
    // object:
    //   wire_connections_open, wire_connections_accepted_total,
    //   wire_connections_refused_total{reason} wire_requests_total{method,status}: the class,
    //   "2xx"; "none" for those whose connection ended first wire_request_duration_seconds: a
    //   histogram, from the request's head to the end of its response wire_received_bytes_total,
    //   wire_sent_bytes_total: of requests and responses wire_timeouts_total{phase},
    //   wire_limits_total{limit}: requests refused for being too much wire_websocket_sessions_open,
    //   wire_websocket_sessions_total, wire_websocket_messages_total{direction}
    std::string text() const;

private:
    friend class detail::worker;
    // For one loop; stays as long as this object.
    detail::loop_metrics& add_loop();
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wire::http
