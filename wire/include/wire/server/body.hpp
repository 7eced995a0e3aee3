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
// connection and the server. Each may be used from any thread, by one at a time. What they call
// runs on the loop's thread and must not throw; it may use, and destroy, the writer or reader it
// belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "wire/base/function.hpp"
#include "wire/base/result.hpp"

namespace wire::http {

namespace detail {
struct body_channel;
struct body_source;
struct loop_handle;
}  // namespace detail

// The body of a response, from response::start_body(). One that is destroyed before finish() ends
// the connection in such a way that the peer knows that something is missing.
class body_writer {
public:
    body_writer() noexcept = default;
    body_writer(body_writer&&) noexcept = default;
    body_writer& operator=(body_writer&& other) noexcept;
    ~body_writer();

    // Takes a copy. False when the connection is gone or the body finished, or when more than
    // limits::max_unsent_bytes now wait: it was taken, but wait for on_drained(). (Who writes on
    // all the same fills the memory.) What goes beyond an announced length is dropped.
    bool write(std::string_view piece);
    // The body is complete. Where less than an announced length was written it cannot be, and the
    // connection ends as without finish().
    void finish();

    // Bytes may still be written: not finished, and the connection was there when it was last heard
    // of.
    bool is_open() const noexcept;

    // Set these before writing, not from inside themselves. All bytes have gone after write() had
    // returned false:
    void on_drained(unique_function<void()> call);
    // Once, when the connection is lost before finish(): the peer went away, took nothing for
    // limits::write_timeout, or the server stopped. Neither is called after finish().
    void on_closed(unique_function<void()> call);

private:
    friend class response;
    explicit body_writer(std::shared_ptr<detail::body_channel> c) noexcept
        : channel_(std::move(c)) {}
    std::shared_ptr<detail::body_channel> channel_;
};

// The body of a request, from response::take_body() or router::stream(). Nothing is read from the
// peer, and nobody who waits for it is told "100 Continue", until read() is called; one that is
// never read costs the connection.
class body_reader {
public:
    body_reader() noexcept = default;

    // Once. `on_piece` is given the body's bytes, which die when it returns; then `on_end`, once:
    // errc::none when that was all, else why no more will come (closed_early, timed_out,
    // body_too_large, bad_chunk, ..., stopped). In the latter case the connection has been
    // answered, as far as it could be, and sending the response does nothing. Trailer fields are
    // dropped. Neither is called after the response was sent, or finished: the rest of the body is
    // then of no interest, and the connection ends. Both may be called before read() or resume()
    // returns. They are kept until the end, not longer.
    using piece_handler = unique_function<void(std::string_view piece)>;
    using end_handler = unique_function<void(errc why)>;
    void read(piece_handler on_piece, end_handler on_end);

    // Between pause() and resume() nothing is called, and the peer has to wait: no more than one
    // receive's worth is held for it. limits::body_timeout does not run meanwhile.
    void pause();
    void resume();

private:
    friend class response;
    explicit body_reader(std::shared_ptr<detail::body_source> s) noexcept : source_(std::move(s)) {}
    std::shared_ptr<detail::body_source> source_;
};

// What is to be done with a body, decided when a request's head is there.
struct body_plan {
    // The handler is called at once and reads the body; else when the body is there, in
    // request::body().
    bool stream = false;
    // With `stream`: instead of limits::max_body_bytes.
    std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace wire::http
