// Bodies that come, or go, a piece at a time.
//
//     routes.get("/numbers", [](http::response res) {
//         http::body_writer out = res.start_body();
//         out.write("one ");
//         out.write("two ");
//         out.finish();
//     });
//     routes.stream(http::method::post, "/count", [](http::response res, http::body_reader in) {
//         auto n = std::make_shared<std::size_t>(0);
//         in.read([n](std::string_view piece) { *n += piece.size(); },
//                 [n, res = std::move(res)](wire::errc why) mutable {
//                     if (why == wire::errc::none) res.send(std::to_string(*n));
//                 });
//     });
//
// Both are handles on something that the server holds: move them anywhere, let them outlive the
// connection and the server. Each may be used from any thread, by one at a time. Their callbacks
// run on the loop's thread; they may use, and destroy, the writer or reader that they belong to.
// One that throws is not called again, nor is the other of the reader: server_options::on_exception
// is told, and a response that they own answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "wire/base/export.hpp"
#include "wire/base/function.hpp"
#include "wire/base/result.hpp"

namespace wire::http {

namespace detail {
struct body_channel;
struct body_source;
}  // namespace detail

// The body of a response, from response::start_body(). Move-only. One that is destroyed before
// finish() ends the connection in such a way that the peer knows that something is missing.
class WIRE_EXPORT body_writer {
public:
    // Writes nowhere: write() returns false.
    body_writer() noexcept = default;
    // For the server: users get writers from response::start_body().
    explicit body_writer(std::shared_ptr<detail::body_channel> channel) noexcept
        : channel_(std::move(channel)) {}
    body_writer(body_writer&&) noexcept = default;
    // The body that this object wrote before ends as by destruction.
    body_writer& operator=(body_writer&& other) noexcept;
    ~body_writer();

    // Queues a copy of `piece`. On the loop's own thread it leaves at the end of the loop
    // iteration, from others after the loop has been woken up. Bytes beyond an announced length are
    // dropped.
    //
    // Returns false when the connection is gone, the body finished or none is sent (see
    // on_closed()), in which case nothing is queued; or when more than limits::max_unsent_bytes
    // were queued with it, even if the peer takes them at once: this piece was taken, but wait for
    // on_drained() before the next, so that the loop serves others meanwhile. Callers that ignore
    // `false` grow the queue without bound.
    bool write(std::string_view piece);
    // A field that is to follow the body, once finish() is called. Only a body in chunks has a
    // place for it, and it is sent only to clients that asked for such fields ("TE: trailers", RFC
    // 9110 section 10.1.4): nothing may depend on it. Where the fields are known beforehand,
    // announce their names by response::header("Trailer", ...).
    //
    // False, and nothing is kept, for a name that may not stand there (may_be_trailer()), for a
    // value that may not stand in a header, and when the body is finished, none is sent or the
    // connection is gone.
    bool trailer(std::string_view name, std::string_view value);
    // The body is complete. Where less than an announced length was written it cannot be, and the
    // connection ends as without finish(). Afterwards this object writes nowhere.
    void finish();

    // Whether bytes may still be written: not finished, not without a body, and the connection was
    // there when it was last heard of.
    bool is_open() const noexcept;

    // Set the two callbacks before writing, and not from inside themselves. Neither is called after
    // finish().

    // Called when all queued bytes have gone after write() had returned false.
    void on_drained(unique_function<void()> call);
    // Called once, when no more is sent before finish(): the peer went away, took nothing for
    // limits::write_timeout, or the server stopped; or, as soon as the head is sent, because the
    // response has no body (to HEAD, and with 204, 205 and 304). Where that has happened already,
    // it is called at once or by the loop.
    void on_closed(unique_function<void()> call);

private:
    std::shared_ptr<detail::body_channel> channel_;  // null once finished
};

// The body of a request, from response::take_body() or router::stream(). Copies read the same body.
//
// Nothing is read from the peer, and a peer that waits for "100 Continue" is not told so, until
// read() is called. Call it before start_body(): once the final status has gone, "100 Continue" may
// not follow, and such a peer may never send its body. A body that is never read costs the
// connection.
class WIRE_EXPORT body_reader {
public:
    // Reads nothing, and calls nothing.
    body_reader() noexcept = default;
    // For the server: users get readers from response::take_body() or router::stream().
    explicit body_reader(std::shared_ptr<detail::body_source> source) noexcept
        : source_(std::move(source)) {}

    // Given the body's bytes, which die when it returns.
    using piece_handler = unique_function<void(std::string_view piece)>;
    // Given errc::none when the body was complete, else why no more will come: closed_early, also
    // where the server stops, timed_out, body_too_large, bad_chunk and others.
    using end_handler = unique_function<void(errc why)>;

    // Begins to read; to be called once. `on_piece` is called with each piece, then `on_end` once.
    // With an error the connection has been answered, as far as it could be, and sending the
    // response does nothing. request::trailers() has the fields that follow a complete
    // body.
    //
    // Neither is called after the response was sent, or finished: the rest of the body is then of
    // no interest, and the connection ends. Both may be called before read() or resume() returns.
    // They are kept until the end, not longer.
    void read(piece_handler on_piece, end_handler on_end);

    // Between pause() and resume() nothing is called, and the peer has to wait: no more than one
    // receive's worth is held for it. limits::body_timeout does not run meanwhile.
    void pause();
    void resume();

private:
    std::shared_ptr<detail::body_source> source_;
};

// How a request's body is to be received; decided when its head has come.
struct body_plan {
    // True: the handler is called at once and reads the body as it comes. False: it is called when
    // the whole body is in request::body().
    bool stream = false;
    // With `stream`: the most bytes that the body may have, instead of limits::max_body_bytes.
    std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace wire::http
