// A file of requests to send in rotation: a JSON list (comments allowed) of objects with the keys
//
//     url | path    http://host/path, or a path at each URL of the command line
//     method        default: the command line's
//     headers       {"Name": "value"}: added to the command line's, or instead of those of the
//                   same name
//     body          text, or any JSON
//     body_file     a file, seen from the folder of this one
//     weight        how often, beside the others (1 to 1000; default 1)
//     expect        {status, header, body, body_file, length, sha256, match, json}: as the flags
//                   of these names
//
// The command line gives all that an entry leaves out.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "plan/request_options.hpp"

namespace wireload {

// The string is "file: [entry].key: expected ..., got ...".
std::variant<std::vector<request_options>, std::string> read_request_file(
    const std::string& path, const request_options& defaults);

// The whole of a file; the string says that it cannot be read.
std::variant<std::vector<char>, std::string> file_bytes(const std::string& path);

}  // namespace wireload
