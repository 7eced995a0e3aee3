// One connection of a server: requests in order, one at a time, then perhaps a WebSocket.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "wire/loop/stream.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/websocket/session.hpp"

namespace wire::http::detail {

struct exchange;
class worker;

class connection final : public stream, private ws::session::owner {
public:
    // An intrusive list of connections.
    struct list {
        connection* first = nullptr;
    };

    explicit connection(worker& w) noexcept;
    ~connection() override;

    // Call it once attached.
    void begin(list& l);
    void unlink(list& l) noexcept;

    // Sends the response of the request in progress and goes on with the next.
    void respond(exchange& e);
    // The server is stopping: ends at once when idle, else after the request in progress.
    void drain();
    // Closes at once, whatever is going on.
    void drop(bool reset = false);

    connection* next() const noexcept { return next_; }

private:
    enum class phase : std::uint8_t {
        securing,   // the TLS handshake
        idle,       // between requests
        head,       // some of a request's head has come
        body,
        handling,   // waiting for the response
        lingering,  // all is said; waiting for the peer to have heard it (RFC 9112 section 9.6)
        websocket,
    };

    void on_open() override;
    void on_data(std::span<char> bytes) override;
    void on_end() override;
    void on_failure(const error& why) override;
    void before_send() override;
    void on_drained() override;
    void session_finished() override;

    std::size_t consume(std::span<char> bytes);
    void take_head(std::string_view raw);
    void dispatch();
    void refuse(errc why);
    bool start_websocket(exchange& e);
    void write_response(exchange& e, bool keep_alive);
    void consume_held();
    void settle();
    void close_gracefully(bool at_once);
    bool congested() noexcept;
    void enter(phase p) noexcept;
    time_point phase_due() const noexcept;
    time_point write_due() const noexcept;
    void on_timer();

    worker* worker_;
    connection* next_ = nullptr;
    connection* previous_ = nullptr;
    exchange* current_ = nullptr;      // the request in progress
    std::unique_ptr<ws::session> session_;
    request_parser parser_;
    buffer held_;                      // received, not used up
    timer timer_ = timer::calling<&connection::on_timer>(this);
    time_point since_;                 // the last step forward of this phase
    time_point last_write_;
    phase phase_ = phase::idle;
    bool consuming_ = false;           // on the stack below
    bool peer_ended_ = false;
};

}  // namespace wire::http::detail
