// One connection of a server: requests in order, one at a time, then perhaps a WebSocket. Its
// states are described in connection.cpp. Everything is on the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "loop_metrics.hpp"
#include "peers.hpp"
#include "websocket/session_core.hpp"
#include "wire/loop/stream.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/tls/connection.hpp"

namespace wire::http {
class response;
}

namespace wire::http::detail {

struct body_channel;
struct exchange;
struct file_body;
class worker;

class connection final : public stream, private ws::detail::session_owner {
public:
    // An intrusive list of connections.
    struct list {
        connection* first = nullptr;
    };

    // `proxy` named the peer; null where none did.
    connection(worker& w, const address& peer, const address* proxy = nullptr);
    ~connection() override;

    // Joins `l` and waits for requests. To be called once attached to the loop.
    void begin(list& l);
    void unlink(list& l) noexcept;

    // Sends the response of the request in progress and goes on with the next.
    void respond(exchange& e);
    // The server is stopping: ends at once when idle, else after the request in progress, or
    // the one that is on its way.
    void drain();
    // Closes at once, whatever is going on.
    void drop(bool reset = false);

    // ---- for bodies in pieces (connection_body.cpp) ----

    void send_piece(body_channel& c, std::string_view piece);
    // The body that is being sent has ended: when not `complete`, the peer is to know.
    void end_body(bool complete);
    // The reader of the request's body has begun, paused or resumed.
    void body_flow_changed();
    // What has come of the request's body cannot be decoded.
    void refuse_body(errc why);
    // Whether the peer must first take what it has been sent.
    bool congested() noexcept;
    // Sends a whole 1xx head ahead of the response of the request in progress.
    void send_interim(std::string_view head);
    // Answers a CONNECT, and goes on as the tunnel whose ends `e` has.
    static void begin_tunnel(connection& c, exchange& e);
    // Sends `res` with `file` in place of its body. Any thread.
    static void send_file(response res, std::shared_ptr<file_body> file);

    address peer() const noexcept { return peer_.get(); }
    connection* next() const noexcept { return next_; }

private:
    enum class phase : std::uint8_t {
        securing,  // the TLS handshake
        idle,      // between requests
        head,      // some of a request's head has come
        body,
        handling,   // waiting for the response
        lingering,  // all is sent; waits for the peer to close (RFC 9112 section 9.6)
        websocket,
    };

    void on_open() override;
    void on_data(std::span<char> bytes) override;
    void on_end() override;
    void before_failure(stream_filter& filter, const error& why) override;
    void on_failure(const error& why) override;
    void before_send() override;
    void on_drained() override;
    void session_finished() override;
    time_point last_write() const noexcept override { return last_write_; }

    std::size_t consume(std::span<char> bytes);
    void take_head(std::string_view raw);
    void dispatch(phase p);
    void take_piece(std::string_view piece);
    void take_body_end();
    void go_on();
    // Answers for the handler, and ends the connection. `head`: what has come of a request whose
    // head is not whole.
    void refuse(errc why, std::string_view head = {});
    void refuse(errc why, int status, std::string_view text, std::string_view head = {});
    void observe(const exchange* asked, const exchange& answer, int status);
    void handshake_failed(errc code, std::string_view reason, wire::tls::handshake_alert alert);
    bool waits_for_handler() const noexcept;
    timeout_phase timeout() const noexcept;
    [[gnu::cold]] bool start_websocket(exchange& e);
    void begin_body(bool peer_waits);
    bool stalled() const noexcept;
    void hold_back(bool on) noexcept;
    time_point body_due() const noexcept;
    bool answering() const noexcept;
    bool tunnelling() const noexcept;
    void begin_streaming(exchange& e, bool keep_alive);
    void begin_file(exchange& e, bool keep_alive);
    void pump_file();
    void finish_response(exchange& e, bool keep_alive, bool at_once);
    void cut_off(errc why);
    // `answer`: what the library has sent in place of the handler's.
    void abandon(errc why, const exchange* answer = nullptr);
    void write_response(exchange& e, bool keep_alive, framing how, std::uint64_t length);
    void consume_held();
    void settle();
    void close_gracefully(bool at_once);
    void enter(phase p) noexcept;
    time_point phase_due() const noexcept;
    time_point write_due() const noexcept;
    void note_waiting() noexcept;
    void on_timer();

    worker* worker_;
    connection* next_ = nullptr;
    connection* previous_ = nullptr;
    exchange* current_ = nullptr;  // the request in progress
    std::unique_ptr<ws::detail::session_core> session_;
    request_parser parser_;
    buffer held_;  // received, not used up
    timer timer_ = timer::calling<&connection::on_timer>(this);
    time_point since_;  // when this phase began, or last made progress
    time_point last_write_;
    // For limits::min_send_rate: how long bytes have waited for room in the socket, up to
    // last_write_, and taken() when that began to be counted.
    clock::duration waited_{};
    std::uint64_t taken_before_ = 0;
    compact_address peer_;
    // Body goes with handling when the handler reads it as it comes.
    phase phase_ = phase::idle;
    bool consuming_ = false;  // consume() is on the stack
    bool peer_ended_ = false;
    bool fresh_ = true;  // no request has come yet
};

}  // namespace wire::http::detail
