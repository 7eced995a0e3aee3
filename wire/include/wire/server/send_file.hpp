// What response::send_file() may be told.
//
//     routes.get("/report", [](http::response res) {
//         res.send_file("/var/lib/app/report.pdf", {.download_as = "report.pdf"});
//     });
#pragma once

#ifdef WIRE_WITHOUT_FILES
#error "this wire was built without files: build it with -D WIRE_WITH_FILES=ON"
#endif

#include <cstddef>
#include <string>

#include "wire/server/response.hpp"

namespace wire::http {

// How one file is sent. Values.
struct send_file_options {
    // Its Content-Type. Empty: what was set before, else the built-in type of the extension, else
    // application/octet-stream.
    std::string content_type{};
    // The value of Cache-Control; no such field of this when empty.
    std::string cache_control{};
    // The name, in UTF-8, under which browsers are to store it instead of showing it
    // (Content-Disposition: attachment, RFC 6266); no such field of this when empty.
    std::string download_as{};
    // Ranges of bytes in one request; with more, or overlapping ones, the file is sent whole.
    std::size_t max_ranges = 16;
};

}  // namespace wire::http
