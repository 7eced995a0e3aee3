// Bodies that are never in memory whole: a request's body from a source, a response in pieces.
//
//     wire::http::response_pieces to;
//     to.data = [&](std::string_view piece) { file.write(piece); };
//     to.end = [&](wire::result<wire::http::reply> end) { report(end); };
//     client.send(wire::http::make_request(wire::http::method::get, url), std::move(to));
//
// Everything here is called on the loop's thread.
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

// Names a request to the client that returned it; never used twice by one client. Calls with the id
// of a request that is over do nothing.
using request_id = std::uint64_t;

// What a body_source answers besides the bytes that it appended.
enum class source_state : std::uint8_t {
    // There is more: ask again when these bytes have left.
    more,
    // Nothing now: ask again after async_client::resume_body(). Meanwhile only
    // client_timeouts::total_timeout bounds the request. Not for the blocking client, which has no
    // such call.
    later,
    // The body is complete.
    end,
};

// A request's body, asked for piece by piece as the connection takes it.
struct body_source {
    // Appends at most `most` bytes to `out` and says how to go on. At no time are more than 64 KiB
    // of the body unsent. An error ends the request with that error; `more` without any byte, or
    // more bytes than `most`, ends it with errc::bad_argument.
    std::function<result<source_state>(buffer& out, std::size_t most)> pull;
    // The body's length in bytes, sent as Content-Length; exactly so many must come. None: the body
    // is sent chunked.
    std::optional<std::uint64_t> length = {};
    // Begins the body again from its first byte. With it, a request whose body was asked for can be
    // sent again as others are: by redirects and retries, and when a kept connection was closed.
    // Called just before the body is asked for again. A redirect that turns the request into a GET
    // is followed without it.
    std::function<void()> rewind = {};

    // Whether there is a source.
    explicit operator bool() const noexcept { return static_cast<bool>(pull); }
};

// A response as it comes. The three are called in this order; only `end` must be set.
//
// Responses that the client acts on itself are not given: redirects that it follows, failures that
// it retries. Once a piece has been given, or a body_source without `rewind` has been asked, the
// request is not sent again. With client_options::decompress the pieces are decoded where
// reply::decoded() of the head says so.
struct response_pieces {
    // Status and fields; no body. The reference dies when this returns.
    unique_function<void(const reply& head)> head = {};
    // The next bytes of the body, never empty; they die when this returns. May call
    // async_client::pause(): no more then come before resume().
    unique_function<void(std::string_view piece)> data = {};
    // Exactly once, whatever happens: the reply, whose body is empty, or why it broke off.
    unique_function<void(result<reply> end)> end;
};

}  // namespace wire::http
