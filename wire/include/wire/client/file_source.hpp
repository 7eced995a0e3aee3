// A request whose body is a file on disk.
//
//     auto source = wire::http::file_source("/home/me/film.mp4");
//     if (!source) return report(source.error());
//     auto request = wire::http::make_request(wire::http::method::put, url);
//     request.source = *std::move(source);
//     client.send(std::move(request), done);
#pragma once

#ifdef WIRE_WITHOUT_FILES
#error "this wire was built without files: build it with -D WIRE_WITH_FILES=ON"
#endif

#include <cstdint>
#include <functional>
#include <string>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/client/streaming.hpp"

namespace wire::http {

// Told on the loop's thread, after each piece, how many bytes of a body the connection has taken
// for sending (fewer than before when the request is sent again), and how many there are.
using upload_progress = std::function<void(std::uint64_t taken, std::uint64_t of)>;

// The source of a body that is the file's content, with its present size as Content-Length. It can
// be rewound, so the request may be sent again. For one request at a time. The file is opened now,
// and read while it is sent: that waits for the disk on the loop's thread, at most 64 KiB at a
// time. errc::system_error, with the path in its message, where it cannot be opened or is no
// regular file; a file that has become shorter when it is sent ends the request with the same.
WIRE_EXPORT result<body_source> file_source(const std::string& path, upload_progress progress = {});

}  // namespace wire::http
