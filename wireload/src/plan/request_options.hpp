// One HTTP request of a run, as asked for on the command line or in a file of requests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/expectations.hpp"

namespace wireload {

struct request_options {
    std::string url;   // empty: `path` at each URL of the command line
    std::string path;  // path and query
    std::string method = "GET";
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    std::uint32_t weight = 1;
    expectations expect;
    std::string where;  // for messages: "requests.json: [2]"; empty for the command line's
};

// Says what is wrong with a header field that a user wants to send; empty when nothing is.
std::string header_problem(std::string_view name, std::string_view value);
// Says what is wrong with a method; empty when nothing is.
std::string method_problem(std::string_view method);

}  // namespace wireload
