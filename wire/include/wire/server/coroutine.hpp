// Handlers that are coroutines:
//
//     routes.get("/proxied", [&client](http::response res) -> wire::task<> {
//         wire::result<http::reply> got = co_await client.get("http://127.0.0.1:8081/");
//         res.send(got ? std::string(got->body()) : "nobody there\n");
//     });
//
// A handler, and one of router::stream(), may return a task<> instead of nothing. It then runs on
// the loop's thread, also where middleware called it from another, and may wait for whatever there
// is to await: clients, sleep_for(), run_in() for work that blocks, body_pieces.
//
// What the lambda captures is the route's, and lives as long as the server; arguments are the
// coroutine's own. Then:
// - The response goes with the coroutine: one that ends, or throws, without having answered answers
// 500.
// - When the peer goes away, the coroutine goes on to its end; what it sends is dropped. Bodies
// tell of it: body_pieces::next() gives
//   the error, body_writer::write() returns false.
// - stop() waits for coroutines as for requests, those that have answered included; when
// server_options::drain_timeout is over, those that
//   are left are destroyed where they wait.
// - limits::handler_timeout counts for it: the peer is told 503, and the coroutine goes on.
#pragma once

#include <coroutine>
#include <memory>
#include <string>

#include "wire/base/result.hpp"
#include "wire/loop/run_in.hpp"
#include "wire/loop/task.hpp"
#include "wire/server/body.hpp"
#include "wire/server/response.hpp"

namespace wire::http {

// A request's body for a coroutine, from the reader of a stream() route or of
// response::take_body(). The loop's thread. While nobody waits for a piece, the peer has to: no
// more than one is held.
class body_pieces {
public:
    class [[nodiscard]] waiting;

    body_pieces(event_loop& loop, body_reader in);
    body_pieces(body_pieces&&) noexcept = default;
    body_pieces& operator=(body_pieces&&) noexcept = default;
    ~body_pieces();

    // `co_await pieces.next()`: a result<std::string>, empty at the end of the body. An error where
    // the rest will not come, as body_reader tells it; errc::stopped once the response has been
    // sent.
    waiting next() noexcept;

private:
    struct state;
    std::shared_ptr<state> state_;
};

class body_pieces::waiting {
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
