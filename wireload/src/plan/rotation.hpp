// The servers that requests go to, and the order of the requests.
//
// Connections are spread over the targets, and each goes round the requests of its own target,
// beginning at another place than its neighbours. Which request a connection's n-th is, is a
// function of the two numbers: nothing has to be kept for those in flight, and every run is the
// same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plan/reply_checks.hpp"
#include "plan/request_options.hpp"
#include "plan/text_template.hpp"
#include "wire/loop/address.hpp"
#include "wire/proto/http_types.hpp"
#include "wire/proto/url.hpp"

namespace wireload {

// Given to a socket at a time, about: large requests leave in pieces, so that waiting connections
// hold little.
inline constexpr std::size_t send_bytes = 16 * 1024;

struct target {
    wire::url url;
    wire::address server;
    std::uint64_t connections = 0;  // of the run's, that go there
};

// A request made ready to send.
struct prepared_request {
    std::uint32_t index = 0;  // among all of the run
    std::uint32_t target = 0;
    std::uint32_t weight = 1;
    wire::http::method method = wire::http::method::get;
    std::string name;       // "GET http://127.0.0.1:8080/path"
    std::string bytes;      // all of it, when it is always the same
    std::string block;      // of the run's only request: `bytes`, as often as they go in one send
    text_template pattern;  // otherwise
    reply_checks checks;
    bool constant() const { return !bytes.empty(); }
    // What is sent at once without being copied: `bytes` once or more; empty where there is none.
    std::string_view lasting() const {
        if (!block.empty()) return block;
        return bytes.size() <= send_bytes ? std::string_view(bytes) : std::string_view();
    }
    // Makes `block`, for `in_flight` requests on a connection.
    void repeat(std::uint32_t in_flight);
};

// The string says what is wrong.
std::variant<prepared_request, std::string> prepare_request(const request_options& asked,
                                                            const wire::url& url, bool keep_alive);

// Numbers 0 to n-1, each as often as its weight says, spread as evenly as can be: {2, 1} gives 0 1
// 0. Weights that have a common divisor are divided by it.
std::vector<std::uint32_t> spread(std::span<const std::uint32_t> weights);

}  // namespace wireload
