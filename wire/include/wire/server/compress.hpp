// Middleware that compresses responses for clients that accept it.
//
//     routes.after(http::compress());
//
// Compresses bodies that are sent whole, of a content type that shrinks, where the result is
// smaller. Accept-Encoding says how, by its weights; `codings` decides between those that are
// equally welcome: "gzip, deflate, br, zstd" of browsers gets zstd, where wire is built with it.
// Left alone: 206, files, and responses that have a Content-Encoding already or Cache-Control:
// no-transform. Vary says that the answer depends on Accept-Encoding, and a strong ETag becomes a
// weak one, as the bytes are others now (RFC 9110 section 8.8.1). A 304 has the Vary and the ETag
// of its 200: where it has a strong one and the client's If-None-Match names that, the client has
// the body as it was; else its Content-Type decides, text where it has none. A client that accepts
// nothing that can be made, not even the body as it is ("identity;q=0"), gets it as it is. It runs
// on the thread that sends. Built without zlib, brotli and libzstd it does nothing.
//
// Bodies in pieces (start_body()) are compressed too, on the thread that writes, unless their
// length was announced: the peer is then to know it. Each write() is flushed, since it promises
// that the piece goes out: the peer can decompress all that was written, as events and progress
// need. That costs some five bytes in gzip, and what repeats in the next 32 KiB (br and zstd: 128
// KiB) still shrinks; write pieces of some KiB where no reader waits for each.
//
// Do not use it for pages that hold both a secret and text of an attacker's choosing: the length
// tells of the secret (BREACH).
#pragma once

#include <cstddef>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/proto/accept_encoding.hpp"
#include "wire/server/router.hpp"

namespace wire::http {

struct compress_options {
    // Bodies of fewer bytes are left alone: the fields cost about what is saved.
    std::size_t min_bytes = 1024;
    // What may be used, the most preferred first. What wire was built without is passed over. At
    // these levels zstd takes half of gzip's time and br one and a half to three times as much;
    // both make bodies smaller than gzip does.
    std::vector<content_coding> codings = {content_coding::zstd, content_coding::br,
                                           content_coding::gzip, content_coding::deflate};
    // Of gzip and deflate: zlib's, 1 (fast) to 9 (small). nginx's gzip_comp_level: 1. With a level
    // that a coding does not have, bodies that it is chosen for are sent as they are.
    int level = 1;
    // Brotli's quality, 0 (fast) to 11 (small). 0 and 1 are poor for small pieces; 10 and 11 are
    // for files that are compressed once (file_options::precompressed).
    int br_level = 3;
    // zstd's, 1 (fast) to 22 (small).
    int zstd_level = 1;
    // Bodies in pieces that are compressed at the same time; further ones are sent as they are.
    // Each holds 262 KiB until it ends, with br 0.6 MiB, with zstd 1 MiB; more at higher levels. A
    // whole body holds as much while it is compressed (br: 1.1 MiB), and at most eight compressors
    // of each coding stay for later bodies, of br none.
    std::size_t max_streams = 256;
};

// Makes the middleware, for router::after() of all paths or of a prefix. Each call has a set of
// compressors of its own: use one for all prefixes where memory matters.
WIRE_EXPORT router::editor compress(const compress_options& options = {});

}  // namespace wire::http
