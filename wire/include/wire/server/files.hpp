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

#include <cstddef>
#include <map>
#include <string>

#include "wire/base/result.hpp"
#include "wire/server/handler.hpp"

namespace wire::http {

struct file_options {
    // The route's {name...} that holds the path below the directory; where the route has no such
    // name, the request's whole path is used.
    std::string parameter = "path";
    // What stands for a directory, which is redirected to its name with '/' when that is missing.
    // Empty: directories are not found.
    std::string index = "index.html";
    // Content types by extension, in lower case and without dot, beside and before the built-in
    // ones. Others are application/octet-stream.
    std::map<std::string, std::string> types{};
    std::string cache_control{};  // the field's value; none when empty
    bool hidden = false;          // also names that begin with '.'
    bool precompressed = false;   // "x.gz" in place of "x" for those who accept gzip
    std::size_t max_ranges =
        16;  // in one request; more, and overlapping ones, are refused with 416
};

// The directory is opened now and stays open. Whatever the path says, only files below it are
// opened, also by way of symbolic links: the kernel sees to that (openat2, Linux 5.6; fails where
// that is not to be had). What cannot be opened, or is no regular file, is 404.
result<handler> serve_files(const std::string& directory, file_options options = {});

}  // namespace wire::http
