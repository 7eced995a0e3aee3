// Compression of responses for those who accept it: middleware.
//
//     routes.after(http::compress());
//
// Compresses what is sent whole, of a type that shrinks, where that makes it smaller; gzip or deflate as Accept-Encoding asks. Left alone:
// 206, what has a Content-Encoding already or Cache-Control: no-transform, and streamed bodies. Vary says that the answer depends
// on Accept-Encoding, and a strong ETag becomes a weak one, as the bytes are others now (RFC 9110 section 8.8.1). It runs on the thread that
// sends. Without zlib it does nothing.
//
// Do not use it for pages that hold both a secret and text of an attacker's choosing: the length tells of the secret (BREACH).
#pragma once

#include <cstddef>

#include "wire/server/router.hpp"

namespace wire::http {

struct compress_options {
    std::size_t min_bytes = 1024;  // below, the fields cost about what is saved
    int level = 1;                 // 1 to 9; nginx's gzip_comp_level: 1
};

router::editor compress(const compress_options& options = {});

}  // namespace wire::http
