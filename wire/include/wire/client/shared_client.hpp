// A client for all threads of a program: it runs an event loop on a thread of its own, and its
// connections and cookies serve every caller.
//
//     auto client = wire::shared_client::create();
//     auto reply = (*client)->get("http://127.0.0.1:12345/");            // waits
//     auto later = (*client)->submit(wire::http::make_request(wire::http::method::get, url));
//     (*client)->send(wire::http::make_request(wire::http::method::get, url),
//                     [](wire::result<wire::http::reply> r) { ... });    // on the client's thread
//     use(later.get());
//
// A program that has a loop needs none of this: http::async_client is cheaper there, and so is
// http::client for a thread that asks by itself.
#pragma once

#include <future>
#include <memory>
#include <string>

#include "wire/base/export.hpp"
#include "wire/base/function.hpp"
#include "wire/base/result.hpp"
#include "wire/client/client.hpp"
#include "wire/client/websocket.hpp"
#include "wire/loop/loop_options.hpp"

namespace wire {

namespace detail {
struct shared_client_state;
}  // namespace detail

// Any thread may make any call at any time, but for the destructor, which comes last. "The client's
// thread" is the one that runs its loop.
//
// Callbacks, and all that a request brings along (body sources, on_interim), are called on the
// client's thread. They must not throw, and while one works or waits the client does nothing else.
//
// When the client stops, each request under way ends with errc::stopped, whichever form it has.
class WIRE_EXPORT shared_client {
public:
    // Given the reply, or why there is none.
    using callback = http::async_client::callback;

    // Starts the thread. A cookie jar in `options` then belongs to it: reach the jar by on_loop().
    // errc::system_error where the system gives no resources for a loop or a thread.
    static result<std::unique_ptr<shared_client>> create(http::client_options options = {},
                                                         const loop_options& loop = {});
    // stop(); afterwards the thread is gone. Calls that wait in send() meanwhile return
    // errc::stopped. On the client's thread, where a callback may drop the last reference, it does
    // not wait: the thread goes on by itself until it has stopped, which follows at once.
    ~shared_client();
    shared_client(const shared_client&) = delete;
    shared_client& operator=(const shared_client&) = delete;

    // ---- requests ----

    // Sends the request and waits for the whole reply, at most for the time limits in its options.
    // On the client's thread, where it would wait for itself, it gives errc::bad_argument.
    result<http::reply> send(http::client_request request);
    // Sends the request and returns its id, which cancel() takes. `done` is called exactly once,
    // later and on the client's thread; only after stop() it is called inside this call, on the
    // caller's thread. An empty one is for who does not care. Requests that the thread has not
    // taken up yet are not bounded; from then on client_options::max_waiting is.
    http::request_id send(http::client_request request, callback done);
    // The same as a future, which is always fulfilled. Do not wait for it on the client's thread.
    std::future<result<http::reply>> submit(http::client_request request);
    // The request's callback is called with errc::cancelled, soon and on the client's thread,
    // unless it is over by then. Does nothing for a request that is over.
    void cancel(http::request_id id);

    // send() for the usual methods, with an absolute URL; each waits.
    result<http::reply> get(std::string url) {
        return send(http::make_request(http::method::get, std::move(url)));
    }
    result<http::reply> head(std::string url) {
        return send(http::make_request(http::method::head, std::move(url)));
    }
    result<http::reply> del(std::string url) {
        return send(http::make_request(http::method::delete_, std::move(url)));
    }
    result<http::reply> post(std::string url, std::string body,
                             std::string content_type = "application/octet-stream") {
        return send(http::make_request(http::method::post, std::move(url), std::move(body),
                                       std::move(content_type)));
    }
    result<http::reply> put(std::string url, std::string body,
                            std::string content_type = "application/octet-stream") {
        return send(http::make_request(http::method::put, std::move(url), std::move(body),
                                       std::move(content_type)));
    }
    result<http::reply> patch(std::string url, std::string body,
                              std::string content_type = "application/octet-stream") {
        return send(http::make_request(http::method::patch, std::move(url), std::move(body),
                                       std::move(content_type)));
    }

    // ---- what belongs to the client's thread ----

    // Opens a WebSocket. `opened` is called exactly once, as `done` of send() is, with the session
    // or why there is none: see ws::dialer::callback. The session and its handlers belong to the
    // client's thread; session::handle() reaches it from any other. When the client stops, sessions
    // are told close code `abnormal`.
    void dial(std::string url, ws::dial_options options, ws::dialer::callback opened);

    // Calls `work` once on the client's thread, in the order of these calls, with the client that
    // is there: for responses in pieces, coroutines, timers, the cookie jar. That client lives
    // until stop(). Must not throw. False after stop(): `work` is then destroyed without having
    // been called.
    bool on_loop(unique_function<void(http::async_client&)> work);

    // ---- ending ----

    // Ends all requests and sessions and returns when each was told, on the client's thread; there
    // it does not wait itself. Calls of open_options::resolve under way are waited for. The first
    // call counts, and later ones wait for its end.
    void stop();

private:
    explicit shared_client(std::shared_ptr<detail::shared_client_state> s) noexcept;
    std::shared_ptr<detail::shared_client_state> state_;
};

}  // namespace wire
