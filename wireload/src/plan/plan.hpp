// The plan of a run: the options made concrete. All threads share it, and none changes it.
//
// make_plan() goes through these steps, on the main thread, and stops at the first that fails:
//
//   options -> requests or messages, with their checks and targets
//           -> rotations: which connection sends what, in which order
//           -> TLS context
//           -> addresses of the targets: names looked up, one address each
//           -> engine and threads (host_limits.hpp)
//           -> local addresses and ports (source_addresses.hpp) -> limits
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "measure/cpu_quota.hpp"
#include "plan/message.hpp"
#include "plan/options.hpp"
#include "plan/rotation.hpp"
#include "plan/source_addresses.hpp"
#include "wire/base/limits.hpp"
#include "wire/loop/address.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/proto/http_types.hpp"
#include "wire/proto/url.hpp"
#include "wire/tls/client_context.hpp"

namespace wireload {

struct plan {
    options asked;
    wire::url url;         // of the first target
    wire::address server;  // likewise
    wire::limits limits;
    wire::loop_engine engine = wire::loop_engine::epoll;
    std::string engine_why;   // empty: it was asked for, or is the usual one
    unsigned cpus = 1;        // on which the threads run
    unsigned spare_cpus = 0;  // that they could use as well, within the quota
    cpu_quota quota;          // of this process
    std::shared_ptr<wire::tls::client_context> tls;  // null: without TLS

    std::vector<target> targets;
    // Connection n goes to targets[target_turns[n % size]].
    std::vector<std::uint32_t> target_turns;
    std::int64_t name_ns = 0;  // spent looking up names

    std::vector<prepared_request> requests;  // http: of all targets
    std::vector<std::vector<std::uint32_t>>
        rotations;                           // http: by target, in order; numbers in `requests`
    const prepared_request* only = nullptr;  // http: when there is only one
    reply_checks message_checks;             // ws
    message_template message;                // ws
    bool exchanges = true;                   // ws: what a connection gets answers what it has sent
    std::string echo_frame;                  // ws: the right reply, if always the same, else empty
    std::string deflate_offer;               // ws
    std::vector<wire::http::header>
        upgrade_fields;             // ws; views into asked.headers and deflate_offer
    std::string_view upgrade_host;  // ws; of asked.headers; empty: the URL's

    port_range ports;
    std::vector<wire::address> sources;  // empty: the kernel chooses
    bool choose_ports = false;

    // The Host of a WebSocket handshake there.
    std::string upgrade_authority(const wire::url& to) const {
        return upgrade_host.empty() ? to.authority() : std::string(upgrade_host);
    }
    const target& target_of(std::uint32_t connection) const {
        return targets.size() == 1 ? targets[0]
                                   : targets[target_turns[connection % target_turns.size()]];
    }
    const prepared_request& request_of(std::uint32_t connection, std::uint64_t counter) const {
        if (only != nullptr) [[likely]]
            return *only;
        const auto& turns = rotations[target_turns[connection % target_turns.size()]];
        // Neighbours on the same target begin one request apart.
        return requests[turns[(connection / target_turns.size() + counter - 1) % turns.size()]];
    }
    // What the values in its texts are drawn from.
    template_values values_of(std::uint32_t connection, std::uint64_t counter) const {
        return {mix(asked.seed + (connection + 1) * golden_gamma), counter};
    }

    plan() = default;
    plan(const plan&) = delete;  // upgrade_fields point into it
    plan& operator=(const plan&) = delete;
};

struct plan_problem {
    std::string text;  // what is wrong, and what to do
    // That a name has no address: the command line may be right all the same.
    bool unresolved = false;
};

// Looks the host up (once, before anything is timed; not to print the request) and checks that the
// host's limits allow the load; raises the soft limit of open files to the hard one.
std::variant<std::unique_ptr<plan>, plan_problem> make_plan(options asked);

}  // namespace wireload
