// Handlers that are coroutines:
//
//     routes.get("/proxied", [&client](http::response res) -> wire::task<> {
//         wire::result<http::reply> got = co_await client.get("http://127.0.0.1:8081/");
//         res.send(got ? std::string(got->body()) : "bad gateway\n");
//     });
//
// A handler, and one of router::stream(), may return a task<> instead of nothing. It then runs on
// the loop's thread, also where middleware called it from another, and may wait for whatever there
// is to await: clients, sleep_for(), run_in() for work that blocks, body_pieces.
//
// What the lambda captures is the route's, and lives as long as the server; arguments are the
// coroutine's own. Then:
// - The response goes with the coroutine: one that ends, or throws, without having answered answers
//   500, or as server_options::on_exception says.
// - When the peer goes away, the coroutine goes on to its end; what it sends is dropped. Bodies
//   tell of it: body_pieces::next() gives the error, body_writer::write() returns false.
// - stop() waits for coroutines as for requests, those that have answered included; when
//   server_options::drain_timeout is over, those that are left are destroyed where they wait. One
//   that would go on for long asks response::stop_token(), or sleeps with it (wire/loop/stop.hpp).
// - limits::handler_timeout counts for it: the peer is told 503, and the coroutine goes on.
#pragma once

#ifdef WIRE_WITHOUT_COROUTINES
#error "this wire was built without coroutines: build it with -D WIRE_WITH_COROUTINES=ON"
#endif

#include <coroutine>
#include <memory>
#include <string>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/run_in.hpp"
#include "wire/loop/task.hpp"
#include "wire/server/body.hpp"
#include "wire/server/response.hpp"

namespace wire::http {

// A request's body for a coroutine:
//
//     routes.stream(http::method::put, "/count",
//                   [](http::response res, http::body_reader in) -> wire::task<> {
//         http::body_pieces pieces(res.loop(), std::move(in));
//         for (;;) {
//             const wire::result<std::string> piece = co_await pieces.next();
//             if (!piece || piece->empty()) break;
//             ...
//         }
//     });
//
// Belongs to the loop's thread. While the coroutine does not wait for a piece, the peer has to wait
// in its place: no more than one piece is held.
class WIRE_EXPORT body_pieces {
public:
    class [[nodiscard]] waiting;

    // `loop` is response::loop(); `in` comes from a stream() route or response::take_body(), and
    // has not been read.
    body_pieces(event_loop& loop, body_reader in);
    body_pieces(body_pieces&&) noexcept = default;
    body_pieces& operator=(body_pieces&&) noexcept = default;
    // The rest of the body is not read.
    ~body_pieces();

    // `co_await pieces.next()` gives a result<std::string>: the next piece, empty at the end of the
    // body. An error where the rest will not come, as body_reader tells it; errc::stopped once the
    // response has been sent. One coroutine may wait at a time; it goes on at the end of a loop
    // iteration.
    waiting next() noexcept;
    // Gives up the rest of the body: a next() that waits, and every later one, gives errc::stopped
    // once the piece that is held has been taken. For a std::stop_callback, say.
    void stop();

private:
    struct state;
    std::shared_ptr<state> state_;
};

// What next() returns, for `co_await` and nothing else. Destroying a coroutine that waits is fine.
class WIRE_EXPORT body_pieces::waiting {
public:
    explicit waiting(std::shared_ptr<state> s) noexcept : state_(std::move(s)) {}
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;
    ~waiting();
    bool await_ready() const noexcept;
    void await_suspend(std::coroutine_handle<> next);
    result<std::string> await_resume();

private:
    std::shared_ptr<state> state_;
};

}  // namespace wire::http
