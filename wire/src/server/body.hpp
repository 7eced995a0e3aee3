// What body_writer and body_reader share with the connection.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/proto/compression.hpp"
#include "wire/proto/http_types.hpp"
#include "wire/server/body.hpp"

namespace wire::http::detail {

class connection;
struct loop_handle;

// What a body's pieces are turned into on the thread that writes them. One at a time uses it.
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

    // ---- for who sends the response, on any thread, before it is sent ----

    // From here on all goes through it, and what was written already.
    void set_coder(std::unique_ptr<piece_coder> c);

    // ---- on the loop's thread ----

    // The head has gone: what was written meanwhile follows.
    void attach(connection& c, framing how, std::uint64_t length);
    // Takes over what other threads have left here.
    void pump();
    // The connection has sent all.
    void drained();
    // The connection will send no more: whoever still writes is told.
    void lost();
    void take_pending();

    std::shared_ptr<loop_handle> handle;
    std::size_t most_unsent;

    std::mutex mutex;
    // The following are guarded by mutex.
    std::string pending;     // written, not yet taken by the loop
    std::size_t unsent = 0;  // by the connection, when it last looked
    bool posted = false;     // pump() is on its way
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
    framing how = framing::none;  // none: nothing is sent (HEAD, 204, 304)
    std::uint64_t left = 0;       // of an announced length
};

// On the loop's thread, but for its destruction.
struct body_source : std::enable_shared_from_this<body_source> {
    explicit body_source(std::shared_ptr<loop_handle> w) : handle(std::move(w)) {}

    // ---- for the reader ----
    void read(body_reader::piece_handler piece, body_reader::end_handler end);
    void pause(bool on);

    // ---- for the connection ----
    bool stalled() const noexcept { return !wanted || paused; }
    void piece(std::string_view bytes);
    // No more will come; told at once, or when it is asked for.
    void end(errc why);
    // The same for a handler that has answered already: it is told nothing.
    void forget() noexcept;
    void deliver_rest();

    std::shared_ptr<loop_handle> handle;
    connection* at = nullptr;  // while it receives this body
    body_reader::piece_handler on_piece;
    body_reader::end_handler on_end;
    std::string whole;         // a body that had come before it was asked for
    errc result = errc::none;  // once over
    bool wanted = false;
    bool paused = false;
    bool over = false;  // nothing more will come from the connection
    bool told = false;
    bool owes_continue = false;  // the peer waits for 100
};

}  // namespace wire::http::detail
