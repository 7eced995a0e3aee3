// Adds up the counts of all loops and writes them as Prometheus reads them.
#include "wire/server/metrics.hpp"

#include <charconv>
#include <mutex>
#include <vector>

#include "loop_metrics.hpp"

namespace wire::http {

using detail::counter;
using detail::loop_metrics;

struct metrics::state {
    mutable std::mutex mutex;
    std::vector<std::unique_ptr<loop_metrics>> loops;  // guarded by mutex
};

metrics::metrics() : state_(std::make_unique<state>()) {}
metrics::~metrics() = default;

loop_metrics& detail::add_loop(metrics& of) {
    const std::lock_guard lock(of.state_->mutex);
    return *of.state_->loops.emplace_back(std::make_unique<loop_metrics>());
}

namespace {

// Decimal seconds from millionths or thousand-millionths.
std::string seconds(std::uint64_t count, std::uint64_t per_second) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text,
                                   static_cast<double>(count) / static_cast<double>(per_second),
                                   std::chars_format::fixed)
                         .ptr;
    return {text, end};
}

class renderer {
public:
    explicit renderer(const std::vector<std::unique_ptr<loop_metrics>>& loops) : loops_(&loops) {}

    // Over all loops.
    template <typename Read> std::uint64_t sum(Read read) const {
        std::uint64_t total = 0;
        for (const auto& l : *loops_) total += read(*l);
        return total;
    }
    void head(std::string_view name, std::string_view type, std::string_view help) {
        text += "# HELP ";
        text.append(name)
            .append(" ")
            .append(help)
            .append("\n# TYPE ")
            .append(name)
            .append(" ")
            .append(type)
            .append("\n");
    }
    void line(std::string_view name, std::string_view labels, const std::string& value) {
        text += name;
        if (!labels.empty()) text.append("{").append(labels).append("}");
        text.append(" ").append(value).append("\n");
    }
    void line(std::string_view name, std::string_view labels, std::uint64_t value) {
        line(name, labels, std::to_string(value));
    }
    void single(std::string_view name, std::string_view help, counter loop_metrics::* what) {
        head(name, "counter", help);
        line(name, {}, sum([&](const loop_metrics& l) { return (l.*what).read(); }));
    }
    // One array of counters, one label.
    template <std::size_t N>
    void labelled(std::string_view name, std::string_view help, std::string_view label,
                  const std::array<std::string_view, N>& values,
                  std::array<counter, N> loop_metrics::* what) {
        head(name, "counter", help);
        for (std::size_t i = 0; i < N; ++i) {
            line(name, std::string(label) + "=\"" + std::string(values[i]) + "\"",
                 sum([&](const loop_metrics& l) { return (l.*what)[i].read(); }));
        }
    }

    std::string text;

private:
    const std::vector<std::unique_ptr<loop_metrics>>* loops_;
};

void render_requests(renderer& r) {
    constexpr std::array<std::string_view, 6> classes{"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
    r.head("wire_requests_total", "counter", "Finished requests by method and class of status.");
    for (std::size_t m = 0; m <= static_cast<std::size_t>(method::other); ++m) {
        for (std::size_t c = 0; c < classes.size(); ++c) {
            const std::uint64_t n =
                r.sum([&](const loop_metrics& l) { return l.requests[m][c].read(); });
            if (n == 0) continue;
            const std::string_view name = to_string(static_cast<method>(m));
            r.line("wire_requests_total",
                   "method=\"" + std::string(name.empty() ? "other" : name) + "\",status=\"" +
                       std::string(classes[c]) + "\"",
                   n);
        }
    }
}

void render_durations(renderer& r) {
    constexpr std::string_view name = "wire_request_duration_seconds";
    r.head(name, "histogram", "From a request's head to the end of its response.");
    std::uint64_t below = 0;
    for (std::size_t i = 0; i <= loop_metrics::bounds_us.size(); ++i) {
        below += r.sum([&](const loop_metrics& l) { return l.durations[i].read(); });
        const std::string bound = i < loop_metrics::bounds_us.size()
                                      ? seconds(loop_metrics::bounds_us[i], 1'000'000)
                                      : "+Inf";
        r.line(std::string(name) + "_bucket", "le=\"" + bound + "\"", below);
    }
    r.line(
        std::string(name) + "_sum", {},
        seconds(r.sum([](const loop_metrics& l) { return l.duration_ns.read(); }), 1'000'000'000));
    r.line(std::string(name) + "_count", {}, below);
}

}  // namespace

std::string metrics::text() const {
    const std::lock_guard lock(state_->mutex);
    renderer r(state_->loops);
    // What has ended is read before what has begun: no count of open ones is below zero.
    const std::uint64_t closed = r.sum([](const loop_metrics& l) { return l.closed.read(); });
    const std::uint64_t ended =
        r.sum([](const loop_metrics& l) { return l.sessions_closed.read(); });
    r.head("wire_connections_open", "gauge", "Connections open now.");
    r.line("wire_connections_open", {},
           r.sum([](const loop_metrics& l) { return l.accepted.read(); }) - closed);
    r.single("wire_connections_accepted_total", "Connections accepted.", &loop_metrics::accepted);
    r.labelled<3>("wire_connections_refused_total", "Connections closed before their first byte.",
                  "reason", {"max_connections", "max_connections_per_address", "proxy_protocol"},
                  &loop_metrics::refused);
    r.single("wire_handshake_failures_total", "Connections ended in their TLS handshake.",
             &loop_metrics::handshake_failures);
    render_requests(r);
    render_durations(r);
    r.single("wire_received_bytes_total", "Bytes of requests, without chunk framing.",
             &loop_metrics::bytes_in);
    r.single("wire_sent_bytes_total", "Bytes of responses, before TLS.", &loop_metrics::bytes_out);
    r.labelled<6>("wire_timeouts_total", "Time limits that have passed.", "phase",
                  {"handshake", "head", "body", "idle", "write", "handler"},
                  &loop_metrics::timeouts);
    r.labelled<5>("wire_limits_total", "Requests refused for exceeding a limit.", "limit",
                  {"max_uri_bytes", "max_header_bytes", "max_headers", "max_body_bytes",
                   "max_chunk_extension_bytes"},
                  &loop_metrics::limits);
    r.single("wire_exceptions_total", "Exceptions that left handlers and their callbacks.",
             &loop_metrics::exceptions);
    r.head("wire_websocket_sessions_open", "gauge", "WebSocket sessions open now.");
    r.line("wire_websocket_sessions_open", {},
           r.sum([](const loop_metrics& l) { return l.sessions_opened.read(); }) - ended);
    r.single("wire_websocket_sessions_total", "WebSocket sessions opened.",
             &loop_metrics::sessions_opened);
    r.head("wire_websocket_messages_total", "counter", "WebSocket messages.");
    r.line("wire_websocket_messages_total", "direction=\"received\"",
           r.sum([](const loop_metrics& l) { return l.messages.received.read(); }));
    r.line("wire_websocket_messages_total", "direction=\"sent\"",
           r.sum([](const loop_metrics& l) { return l.messages.sent.read(); }));
    return std::move(r.text);
}

}  // namespace wire::http
