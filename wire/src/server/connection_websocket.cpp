// How a connection becomes a WebSocket's, and what it does at the session's end. connection.cpp has
// the states; websocket/session.cpp is what happens in between.
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "connection.hpp"
#include "wire/proto/ws_handshake.hpp"
#include "worker.hpp"

namespace wire::http::detail {

namespace {

// The fields of a 101 that the handler has set: those of the handshake are the library's own.
std::string without_handshake_fields(std::string_view lines) {
    constexpr std::string_view own = "sec-websocket-";
    std::string kept;
    while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find('\n') + 1);
        if (!equals_ignoring_case(line.substr(0, own.size()), own)) kept += line;
        lines.remove_prefix(line.size());
    }
    return kept;
}

// As the browser sees it, where a trusted proxy tells.
ws::own_origin origin_asked_for(const received_request& r) noexcept {
    const bool known = r.tls() != nullptr || (r.client_ && !r.client_->scheme.empty());
    return {.authority = r.client_authority(),
            .scheme = known ? r.client_scheme() : std::string_view()};
}

}  // namespace

bool connection::start_websocket(exchange& e) {
    if (e.refused) return false;
    const ws::upgrade_check check = ws::check_upgrade_request(e.req.head_);
    const bool received = phase_ == phase::handling;  // nothing of HTTP may follow
    if (!check.wanted || check.error != errc::none || !received) {
        e.fail(!check.wanted               ? 426
               : check.error != errc::none ? check.refusal
                                           : 400,
               "This is a WebSocket.\n");
        if (e.status == 426)
            e.fields +=
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
        return false;
    }
    if (!ws::is_allowed_origin(e.req.head_.headers, origin_asked_for(e.req),
                               e.accepting.allowed_origins)) {
        e.fail(403, "This WebSocket is not open to pages of that origin.\n");
        return false;
    }
    const std::string_view protocol =
        ws::choose_protocol(e.req.head_.headers, e.accepting.protocols);
    if (protocol.empty() && e.accepting.require_protocol) {
        e.fail(400, "This WebSocket speaks none of the subprotocols offered.\n");
        return false;
    }
    std::optional<ws::accepted_deflate> compressed;
    if (e.accepting.deflate)
        compressed = ws::accept_deflate(e.req.head_.headers, *e.accepting.deflate);
    std::unique_ptr<ws::permessage_deflate> deflate;
    header extension;
    if (compressed) {
        deflate = std::make_unique<ws::permessage_deflate>(ws::role::server, compressed->agreed,
                                                           *e.accepting.deflate,
                                                           worker_->deflates(), worker_->limits());
        extension = {"Sec-WebSocket-Extensions", compressed->answer};
    }
    const std::size_t before = out().size();
    // What is under way to the kernel is neither in out() nor taken.
    e.upgraded_at = taken() + (filter() != nullptr ? before : unsent()) - e.bytes_out;
    // Cannot fail: the key is Base64; the subprotocol and the extension's parameters are tokens.
    [[maybe_unused]] const errc written =
        ws::write_upgrade_response(out(), check.key, protocol, {&extension, compressed ? 1U : 0U},
                                   without_handshake_fields(e.fields));
    e.status = 101;
    e.head_bytes_out += out().size() - before;
    flush_later();
    enter(phase::websocket);
    session_.reset(new ws::detail::session_core(ws::role::server, *this, *this, worker_->limits(),
                                                worker_->unfinished_messages(),
                                                std::move(deflate)));
    session_->set_protocol(protocol);
    if (loop_metrics* const counts = worker_->counts(); counts != nullptr) {
        counts->sessions_opened.add();
        session_->count(counts->messages);
    }
    // Not kept with the request, which may be kept as long as the session.
    auto open = std::exchange(e.open, nullptr);
    e.accepting = {};
    try {
        open(*session_, e.req);
    } catch (...) {
        // The 101 has been written: there is no response left for on_exception.
        open = nullptr;
        worker_->exceptions().caught(std::current_exception(), 0);
        session_->close(ws::close_code::internal_error);
    }
    if (worker_->draining()) session_->close(ws::close_code::going_away);
    return true;
}

void connection::session_finished() {
    if (loop_metrics* const counts = worker_->counts(); counts != nullptr)
        counts->sessions_closed.add();
    if (is_closed()) return;
    if (session_->gave_up) return drop(unsent() > 0);
    close_gracefully(false);
    if (!consuming_) settle();
}

}  // namespace wire::http::detail
