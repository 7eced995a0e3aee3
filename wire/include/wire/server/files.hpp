// Files of a directory, as a handler.
//
//     auto files = http::serve_files("public");
//     if (files) routes.get("/static/{path...}", *std::move(files));
//
// With ETag, Last-Modified and the conditions on both (304, 412), ranges of bytes (206, 416), and
// HEAD. A plain connection on an epoll loop sends by sendfile(2); others read some 64 KiB at a
// time: no file is ever whole in memory. A file that shrinks while it is being sent ends the
// connection.
//
// Reading from the disk happens on the loop, in pieces, without a thread of its own: meant for
// files that are mostly in the page cache, not for a slow network file system.
#pragma once

#ifdef WIRE_WITHOUT_FILES
#error "this wire was built without files: build it with -D WIRE_WITH_FILES=ON"
#endif

#include <cstddef>
#include <map>
#include <string>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/server/handler.hpp"

namespace wire::http {

// How files are served. Values; nothing is read from the environment or from other files.
struct file_options {
    // The route's {name...} that holds the path below the directory; where the route has no such
    // name, the request's whole path is used. A path with an empty segment ("//") is not found.
    std::string parameter = "path";
    // What stands for a directory, which is redirected to its name with '/' when that is missing.
    // Empty: directories are not found.
    std::string index = "index.html";
    // Content types by extension, in lower case and without dot, beside and before the built-in
    // ones. Others are application/octet-stream.
    std::map<std::string, std::string> types{};
    // The value of Cache-Control; no such field when empty.
    std::string cache_control{};
    // Whether names that begin with '.' are served too; otherwise they are not found.
    bool hidden = false;
    // Whether "x.br", "x.zst" or "x.gz", where there is one, is sent in place of "x" to clients
    // that accept br, zstd or gzip: by the weights that the client gives, and in this order where
    // they are equal. Keep such files as new as "x", and a zstd file's window within 8 MiB (RFC
    // 9659).
    bool precompressed = false;
    // Ranges of bytes in one request; with more, or overlapping ones, the file is sent whole.
    std::size_t max_ranges = 16;
};

// A handler for GET and HEAD of the files below `directory`. The directory is opened now and stays
// open as long as the handler. Whatever the path says, only files below it are opened, also by way
// of symbolic links: the kernel sees to that (openat2, Linux 5.6 or later). What cannot be opened,
// or is no regular file, is 404; other methods are 405, unknown ones 501. Errors: that of the
// system, with the directory in its message, when it cannot be opened or the kernel has no openat2;
// bad_argument for a content type that may not stand in a header.
WIRE_EXPORT result<handler> serve_files(const std::string& directory, file_options options = {});

}  // namespace wire::http
