// Middleware that decodes the bodies of requests.
//
//     routes.before("/upload", http::decompress_requests());
//
// A body whose Content-Encoding is gzip, deflate, br or zstd comes to the handler decoded, whole in
// request::body() or in pieces (body.hpp). The fields stay as they came: Content-Encoding and
// Content-Length describe what was sent. limits::max_body_bytes, and for a stream() route its
// max_body_bytes, hold before and after decoding; limits::max_decompression_ratio too. Without this
// middleware bodies come as they were sent: to decode what any peer sends costs many times the
// bytes that it sends, in time and memory.
//
// Requests are answered without their handler with
// - 415 and the codings that are known in Accept-Encoding (RFC 9110 section 12.5.3), for any other
//   coding, for several at once, and for one whose library wire was built without;
// - 400 for a body that is damaged or cut off, or of zstd with a window of more than 2 MiB;
// - 413 for one that exceeds the limits.
//
// Whole bodies are decoded on the thread that calls the middleware. Other middleware may take the
// body before it, but not begin to read it: what was read could not be decoded any more, and the
// request is answered with 500.
#pragma once

#include "wire/base/export.hpp"
#include "wire/server/router.hpp"

namespace wire::http {

// Makes the middleware, for router::before() of all paths or of a prefix.
WIRE_EXPORT router::editor decompress_requests();

}  // namespace wire::http
