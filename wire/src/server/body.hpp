// What body_writer and body_reader share with the connection.
//
// body_channel, a response's body. write() may come from any thread; the connection takes the bytes
// on the loop's thread.
//
//   state    fields            write() on the loop's thread    write() on another
//   waiting  at null           bytes queue in `pending`        the same
//   sending  at set            goes to the connection          `pending`; pump() is posted
//   ended    closed, ended     refused; end_body() follows     the same
//            when `pending` has been taken
//   over     over, at null     refused; lost() has called      the same
//                              on_closed unless `ended`
//
//   attach(): waiting -> sending, when the head is written     end(): -> ended, by finish() or ~
//   lost(): -> over, when the response is finished, with its head where that has no body, or the
//           connection has gone
//
// body_source, a request's body. All on the loop's thread: calls of the reader are posted there.
//
//   state    fields            a piece from the connection     left by
//   unread   !wanted           does not come: the peer waits   read()
//   flowing  wanted            goes to on_piece at once        pause(), end(), forget()
//   paused   paused            does not come: the peer waits   resume()
//   over     over              -                               deliver_rest(), unless paused before
//                                                              a complete end
//   told     told              on_end was called, or the       -
//                              response sent (forget())
//
// Owners: the handle and the exchange share each by shared_ptr; `at` is the connection while it
// sends or receives this body. What users gave is called without a lock, and may destroy its
// handle.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "proto/body_coding.hpp"
#include "wire/base/buffer.hpp"
#include "wire/proto/compression.hpp"
#include "wire/proto/http_types.hpp"
#include "wire/server/body.hpp"

namespace wire::http::detail {

class connection;
struct loop_handle;

// Encodes a body's pieces, on the thread that writes them; one thread at a time.
class piece_coder {
public:
    virtual ~piece_coder() = default;
    // Appends to `out`; false when it cannot go on.
    virtual bool add(std::string_view piece, flush how, buffer& out) = 0;
};

struct body_channel : std::enable_shared_from_this<body_channel> {
    body_channel(std::shared_ptr<loop_handle> w, std::size_t most)
        : handle(std::move(w)), most_unsent(most) {}

    // ---- for the writer, on any thread ----
    bool write(std::string_view piece);
    void end(bool complete);

    // ---- for middleware, on the thread that sends the response, before it is sent ----

    // Encodes all pieces by `c`, those that were written already included.
    void set_coder(std::unique_ptr<piece_coder> c);

    // ---- on the loop's thread ----

    // The head has gone: what was written meanwhile follows.
    void attach(connection& c, framing how, std::uint64_t length);
    // Sends what other threads have left in `pending`, and the end.
    void pump();
    // The connection has sent all.
    void drained();
    // The connection will send no more: a writer that has not finished is told.
    void lost();
    void take_pending();

    std::shared_ptr<loop_handle> handle;
    std::size_t most_unsent;

    std::mutex mutex;
    // The following are guarded by mutex.
    std::string pending;     // written, not yet taken by the loop
    std::string trailer;     // whole lines; does not change once ended
    std::size_t unsent = 0;  // by the connection, when it last looked
    bool posted = false;     // pump() is posted
    bool congested = false;  // write() said so: drained() is owed
    bool ended = false;      // end() was called
    bool complete = false;   // with that
    bool closed = false;     // no more can be written
    bool over = false;       // the connection sends no more
    bool was_lost = false;   // because it could not
    bool coding = false;     // write() is using the coder, on another thread than the loop's
    std::unique_ptr<piece_coder> coder;  // null when there is none, and once closed
    unique_function<void()> on_drained;
    unique_function<void()> on_closed;

    // On the loop's thread.
    connection* at = nullptr;     // while it sends this body
    framing how = framing::none;  // until then
    std::uint64_t left = 0;       // of an announced length
};

// What a body that is decoded as it comes needs in addition. While it has more to give the reader
// is paused, so that nothing further comes, not even the end.
struct body_decoding {
    explicit body_decoding(body_decoder d) noexcept : by(std::move(d)) {}

    body_decoder by;
    buffer waiting;  // received, not decoded when the reader paused
    buffer plain;
    bool giving = false;  // give_decoded() is on the stack
};

// On the loop's thread, but for its destruction.
struct body_source : std::enable_shared_from_this<body_source> {
    explicit body_source(std::shared_ptr<loop_handle> w) : handle(std::move(w)) {}

    // ---- for the reader ----
    void read(body_reader::piece_handler piece, body_reader::end_handler end);
    void pause(bool on);

    // ---- for middleware, before it is read ----
    void decode_by(body_decoder by);

    // ---- for the connection ----
    // Also while what came earlier is being decoded and given.
    bool stalled() const noexcept {
        return !wanted || paused || (coded != nullptr && coded->giving);
    }
    void piece(std::string_view bytes);
    // No more will come; told at once, or when it is asked for.
    void end(errc why);
    // The same for a handler that has answered already: it is told nothing.
    void forget() noexcept;
    void deliver_rest();
    // What is wrong with a body of which all pieces have come.
    errc finish() const noexcept {
        return coded != nullptr && !told ? coded->by.finish() : errc::none;
    }

    void give(std::string_view bytes);
    void give_decoded(std::string_view bytes);

    std::shared_ptr<loop_handle> handle;
    connection* at = nullptr;  // while it receives this body
    body_reader::piece_handler on_piece;
    body_reader::end_handler on_end;
    std::unique_ptr<body_decoding> coded;  // null for a body that is given as it comes
    std::uint64_t max_bytes = 0;           // that it may have, also decoded
    std::string whole;                     // a body that had come before it was asked for
    errc result = errc::none;              // once over
    bool wanted = false;
    bool paused = false;
    bool over = false;  // nothing more will come from the connection
    bool told = false;
    bool owes_continue = false;  // the peer waits for 100
};

}  // namespace wire::http::detail
