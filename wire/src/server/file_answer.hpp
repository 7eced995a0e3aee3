// Answers requests with open files, for serve_files() and response::send_file().
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "wire/loop/socket.hpp"
#include "wire/server/response.hpp"

namespace wire::http::detail {

// What follows the last '.' of a path's last segment, in lower case; "" without one.
std::string extension_of(std::string_view path);
// The built-in content type of that extension; application/octet-stream for others.
std::string_view type_of_file(std::string_view path);

// Answers with `status` and the error page that there is for it, else its reason as text.
void refuse(response res, int status);

// Answers with `file`, a regular one with the attributes `about`: with validators, conditions and
// ranges (RFC 9110 sections 13 and 14) where the request is GET or HEAD and the status 200, else as
// a whole. Any thread.
void answer_with_file(response res, unique_fd file, const struct stat& about, std::string_view type,
                      std::size_t max_ranges);

}  // namespace wire::http::detail
