// What a request needs in addition when its body comes from a source, or its response is given in
// pieces. Owned by its client_job; the connection that carries it is `on`.
#pragma once

#include <cstdint>
#include <optional>

#include "proto/body_coding.hpp"
#include "wire/base/buffer.hpp"
#include "wire/base/result.hpp"
#include "wire/client/streaming.hpp"
#include "wire/loop/event_loop.hpp"

namespace wire::http {

class client_connection;

struct client_transfer {
    client_transfer() noexcept = default;

    enum class upload : std::uint8_t {
        none,
        awaiting,  // 100 (Continue) or the time for it
        pulling,
        idle,  // the source has nothing now
        done,
    };

    // The request is about to be sent, perhaps not for the first time.
    void begin();
    // Asks the source for a piece, after having it begin again where it must, and appends the
    // piece, framed, to `out`. `later` and `end` as the source says; errc::bad_argument for a
    // source that gives too much, too little or nothing.
    result<source_state> pull(const body_source& source, buffer& out);

    // Gives a piece of the response's body to the caller, decoded where that was asked for, until
    // the caller pauses or cancels. The rest is kept for the next call, which may bring nothing
    // further.
    errc give(std::string_view piece);
    // The response's body is over.
    errc finish() const noexcept { return decoder ? decoder->finish() : errc::none; }

    unique_function<void(const reply& head)> head;
    unique_function<void(std::string_view piece)> data;
    bool in_pieces = false;
    bool committed = false;  // something was given: it cannot be sent again
    bool pulled = false;     // something was taken: the same, unless the source can be rewound
    bool rewinds = false;    // before the next is taken
    bool paused = false;
    bool told = false;            // of more by resume_body(), since the source was last asked
    bool ended = false;           // the connection did, while paused
    std::optional<error> broken;  // with that: not in order
    upload sending = upload::none;
    std::uint64_t left = 0;               // of a body of known length
    std::optional<body_decoder> decoder;  // of the present response

    client_connection* on = nullptr;  // while one carries it
    timer wake{&client_transfer::on_wake, this};

private:
    static void on_wake(void* self);
    buffer piece_;    // of the request
    buffer encoded_;  // of the response, received while paused
    buffer plain_;
};

}  // namespace wire::http
