// The link where the kernel delays packets by itself: a pair of veth devices between the two ends,
// with tc-netem(8) at each. Needs `ip` and `tc` of iproute2.
#pragma once

#include "delay_line.hpp"
#include "namespaces.hpp"

#include <optional>
#include <vector>

namespace wirelink {

using command = std::vector<std::string>;

// The call of `tc` that makes a device delay and drop what it sends as a delay_line does.
command netem_command(const std::string& device, const path_options& options);

// Whether this kernel has netem and this process may use it, asked in a namespace that is gone
// afterwards.
bool netem_works();

// Joins the two ends, each of which gets a device of this name. Throws setup_error.
void join_by_netem(const endpoint& server, const endpoint& client, const std::string& device,
                   const path_options& upstream, const path_options& downstream);

// What netem does not tell apart are packets that `loss` and that a full queue dropped.
struct netem_counters {
    std::uint64_t forwarded = 0;
    std::uint64_t bytes = 0;
    std::uint64_t dropped = 0;
};

// Reads `tc -s -j qdisc show`; nothing when it has no netem.
std::optional<netem_counters> parse_netem_counters(const std::string& json);

// Of what this end has sent; nothing when `tc` does not say.
std::optional<netem_counters> netem_counters_of(const endpoint& sender, const std::string& device);

}  // namespace wirelink
