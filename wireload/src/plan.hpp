// What all threads of a run share and none of them changes: the options made concrete.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "message.hpp"
#include "options.hpp"
#include "source_ports.hpp"
#include "wire/base/limits.hpp"
#include "wire/loop/address.hpp"
#include "wire/proto/http_types.hpp"
#include "wire/proto/url.hpp"
#include "wire/tls/client_context.hpp"

namespace wireload {

struct plan {
    options asked;
    wire::url url;
    wire::address server;
    wire::limits limits;
    std::shared_ptr<wire::tls::client_context> tls;  // null: without TLS

    std::string request;  // http
    wire::http::method method = wire::http::method::get;
    message_template message;                       // ws
    std::vector<wire::http::header> upgrade_fields;  // ws; views into asked.headers

    port_range ports;
    std::vector<wire::address> sources;  // empty: the kernel chooses
    bool choose_ports = false;

    plan() = default;
    plan(const plan&) = delete;  // upgrade_fields point into it
    plan& operator=(const plan&) = delete;
};

// Looks the host up (once, before anything is timed) and checks that the host's limits allow the load; raises the soft
// limit of open files to the hard one. The string says what is wrong and what to do.
std::variant<std::unique_ptr<plan>, std::string> make_plan(options asked);

}  // namespace wireload
