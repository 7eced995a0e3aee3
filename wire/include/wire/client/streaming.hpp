// Bodies that never lie in memory whole: a request's from a source, a response's in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/function.hpp"
#include "wire/base/result.hpp"

namespace wire::http {

class reply;

// What names a request toward the client it was given to; of one that is over it names nothing, and
// calls with it do nothing.
using request_id = std::uint64_t;

// What a source has to say besides the bytes it appended.
enum class source_state : std::uint8_t {
    more,   // ask again when these have left
    later,  // nothing now: ask again after async_client::resume_body(); not for the blocking client
    end,
};

// A request's body, asked for piece by piece as the connection takes it. `pull` appends at most
// `most` bytes; it is called from the loop, and at no time are more than 64 KiB of it unsent. An
// error ends the request with that error.
struct body_source {
    std::function<result<source_state>(buffer& out, std::size_t most)> pull;
    // None: sent chunked. Else exactly so many bytes have to come.
    std::optional<std::uint64_t> length;

    explicit operator bool() const noexcept { return static_cast<bool>(pull); }
};

// A response as it comes. All are called from the loop, in this order; only `end` has to be there.
//
// Not for answers that the client acts on itself, redirects that are followed and failures that are
// tried again: only the last answer is given. Once a piece has been given, or a body_source been
// asked, the request is not sent again. With client_options::decompress pieces are decoded where
// reply::decoded() of the head says so; no more is decoded than is given.
struct response_pieces {
    unique_function<void(const reply& head)> head;  // status and fields; no body
    // Dies when this returns. May call pause(): no more then come before resume(), and the server
    // is made to wait.
    unique_function<void(std::string_view piece)> data;
    // Once, whatever happens; the reply has no body.
    unique_function<void(result<reply> end)> end;
};

}  // namespace wire::http
