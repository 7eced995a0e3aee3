// Chooses the local addresses and ports that the run connects from.
//
// One local address has some 28,000 ports toward one server, and the kernel's search for a free one
// grows slow long before they are gone. Choosing address and port ourselves is some twenty times
// faster then. On the loopback network every 127.x.y.z is ours, so more addresses are free to take.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "plan/destination.hpp"
#include "plan/options.hpp"
#include "wire/loop/address.hpp"

namespace wireload {

// The kernel's range of ports for outgoing connections (net.ipv4.ip_local_port_range).
struct port_range {
    std::uint16_t first = 32768;
    std::uint16_t last = 60999;
    std::uint32_t size() const { return last - first + 1U; }
};
port_range local_port_range();

// What the options and the servers' addresses call for: the kernel's choice where that is as good,
// explicit ones, all of one family, where many connections need them, or a text that says why there
// are not enough, or which of those that were named cannot reach which server.
std::variant<std::vector<wire::address>, std::string> choose_sources(
    const options& asked, const std::vector<destination>& to, port_range range);
// Whether connections to `server` come from the addresses that were chosen, `source` among them.
// Where addresses of the loopback network were not named but chosen for a server on this host, the
// others leave the choice to the kernel: those to another family, and those elsewhere, which they
// cannot reach.
bool takes_source(const options& asked, const wire::address& source, const wire::address& server);
// Whether ports are better chosen by us as well. Not with a connection for each request: only the
// kernel knows which ports in TIME_WAIT may be used again.
bool should_choose_ports(const options& asked, port_range range);

}  // namespace wireload
