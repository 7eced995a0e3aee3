// Streams of server-sent events (text/event-stream), which browsers read as EventSource:
//
//     routes.get("/news", [](http::response res) {
//         auto news = std::make_shared<http::event_writer>(std::move(res));
//         news->send({.data = "hello", .id = "1"});
//         keep(news);  // and send more later
//     });
//
// A client that lost its connection comes back by itself after a while, and tells the id of the
// last event that it got: last_event_id().
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "wire/base/export.hpp"
#include "wire/base/function.hpp"
#include "wire/proto/server_event.hpp"
#include "wire/server/request.hpp"
#include "wire/server/response.hpp"

namespace wire::http {

// How to send events.
struct event_options {
    // An empty comment is sent when nothing else was for so long, so that proxies keep the
    // connection, and a peer that has gone is noticed; 0: never. The HTML standard (section 9.2.7)
    // recommends 15 s.
    std::chrono::milliseconds heartbeat{15'000};
};

// The id of the last event that the client got before it came back. None: it is new, or got none
// with an id. The view dies with the request.
WIRE_EXPORT std::optional<std::string_view> last_event_id(const request& r) noexcept;

// One client's stream. Move-only. Belongs to the thread of the response's loop; from elsewhere,
// event_loop::post() reaches it. It may outlive the connection and the server.
//
// When the server stops, the stream is finished, and on_closed() called: clients come back, and
// reach whoever serves then. One that is destroyed before finish() ends the connection; clients
// come back too. To make one stay away, answer its next request with 204 instead of a stream.
class WIRE_EXPORT event_writer {
public:
    // Writes nowhere.
    event_writer() noexcept;
    // Sends the head, on the loop's thread: 200 unless `res` says otherwise, text/event-stream,
    // `Cache-Control: no-store` unless it is set, and `X-Accel-Buffering: no`, without which nginx
    // holds events back. Afterwards `res` is empty. Where no body may follow (HEAD, 204, 304) the
    // stream is over with it: on_closed() is called as soon as it is set.
    explicit event_writer(response res, const event_options& options = {});
    event_writer(event_writer&&) noexcept;
    event_writer& operator=(event_writer&&) noexcept;
    ~event_writer();

    // Queues one event, as body_writer::write() does its bytes, with its result and the same limit:
    // false when the stream is over, or when on_drained() should be waited for. An event that is
    // not sendable (is_sendable()) is dropped, with false.
    bool send(const server_event& e);
    // Queues a comment, which clients ignore.
    bool comment(std::string_view text);
    // The stream is complete. Afterwards this object writes nowhere.
    void finish();

    // Whether events may still be sent: not finished, and the connection was there when it was last
    // heard of.
    bool is_open() const noexcept;

    // The two callbacks run on the loop's thread and must not throw; they may use and destroy this
    // object. Neither is called after finish(). Set them before the first event, and not from
    // inside themselves.

    // Called when all queued bytes have gone after send() had returned false.
    void on_drained(unique_function<void()> call);
    // Called once: the client went away, took nothing for limits::write_timeout, or the server
    // stopped. Where that has happened already, it is called at once.
    void on_closed(unique_function<void()> call);

private:
    struct state;
    std::shared_ptr<state> state_;  // null: writes nowhere
};

}  // namespace wire::http
