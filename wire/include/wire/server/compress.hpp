// Middleware that compresses responses for clients that accept it.
//
//     routes.after(http::compress());
//
// Compresses bodies that are sent whole, of a content type that shrinks, where the result is
// smaller; gzip or deflate as Accept-Encoding asks. Left alone: 206, files, and responses that have
// a Content-Encoding already or Cache-Control: no-transform. Vary says that the answer depends on
// Accept-Encoding, and a strong ETag becomes a weak one, as the bytes are others now (RFC 9110
// section 8.8.1). It runs on the thread that sends. Without zlib it does nothing.
//
// Bodies in pieces (start_body()) are compressed too, on the thread that writes, unless their
// length was announced: the peer is then to know it. Each write() is flushed, since it promises
// that the piece goes out: the peer can decompress all that was written, as events and progress
// need. That costs some five bytes, and what repeats in the next 32 KiB still shrinks; write pieces
// of some KiB where no reader waits for each.
//
// Do not use it for pages that hold both a secret and text of an attacker's choosing: the length
// tells of the secret (BREACH).
#pragma once

#include <cstddef>

#include "wire/server/router.hpp"

namespace wire::http {

struct compress_options {
    // Bodies of fewer bytes are left alone: the fields cost about what is saved.
    std::size_t min_bytes = 1024;
    // zlib's, 1 (fast) to 9 (small). nginx's gzip_comp_level: 1.
    int level = 1;
    // Bodies in pieces that are compressed at the same time; further ones are sent as they are.
    // Each holds 262 KiB until it ends.
    std::size_t max_streams = 256;
};

// Makes the middleware, for router::after() of all paths or of a prefix. Each call has a set of
// compressors of its own: use one for all prefixes where memory matters.
router::editor compress(const compress_options& options = {});

}  // namespace wire::http
