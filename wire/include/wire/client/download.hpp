// A response's body into a file.
//
//     auto request = wire::http::make_request(wire::http::method::get, url);
//     wire::http::download_options options;
//     options.resume = true;
//     wire::http::download(client, std::move(request), "/home/me/film.mp4", options,
//                          [](wire::result<wire::http::reply> end) { ... });
#pragma once

#ifdef WIRE_WITHOUT_FILES
#error "this wire was built without files: build it with -D WIRE_WITH_FILES=ON"
#endif

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/client/client.hpp"

namespace wire::http {

// How download() goes about it.
struct download_options {
    // Keep what has come when a download breaks off, in "PATH.part" and with the response's strong
    // ETag in "PATH.part.etag", and ask only for the rest the next time (Range and If-Range, RFC
    // 9110 section 14.2). Without a strong ETag, and where the server's file has changed, the
    // download begins anew. Bodies are then asked for without compression. One process at a time
    // may resume the same path.
    bool resume = false;
    // Write the file to the disk before it gets its name, and the name afterwards (fsync(2)).
    // Otherwise a power cut may lose it.
    bool sync = false;
    // Told after each piece how many bytes of the file there are, and how many there will be, where
    // the server says so.
    std::function<void(std::uint64_t have, std::optional<std::uint64_t> of)> progress = {};
};

// Sends the request, and writes the body of a 200 response to a new file beside `path`, which is
// renamed to `path`, replacing what was there, when the body is complete: whoever opens `path`
// finds a whole file or the one before. Returns the id for async_client::cancel(), or 0 where
// nothing was sent. Must be called on the loop's thread, and `client` must outlive the call only.
//
// `done` is called exactly once, from the loop, with the reply, whose body is empty. Responses of
// other statuses change no file: look at the status. A 416 to a resumed download ends what was
// kept, so that the next one begins anew. Errors are those of async_client::callback, closed_early
// where fewer bytes came than were announced, bad_header_value for a part that is not the one asked
// for, and system_error, with the path, where the file cannot be written. A body that runs until
// the connection closes is complete when it closes.
//
// Nobody else should be able to write to the folder. Writing waits for the disk on the loop's
// thread. Range, If-Range and, with `resume`, Accept-Encoding fields of the request are replaced.
WIRE_EXPORT request_id download(async_client& client, client_request request, std::string path,
                                download_options options, async_client::callback done);

}  // namespace wire::http
