// Local addresses and ports to connect from.
//
// One local address has some 28,000 ports toward one server, and the kernel's search for a free one
// grows slow long before they are gone. Choosing address and port ourselves is some twenty times
// faster then. On the loopback network every 127.x.y.z is ours, so more addresses are free to take.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

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

class source_ports {
public:
    // Empty: the kernel chooses. Addresses with `choose_ports` false: only the address is fixed.
    // `start`: any number, best another one in each process, since the ports of the one before may
    // not be free yet.
    source_ports(std::vector<wire::address> addresses, bool choose_ports, port_range range,
                 std::uint64_t start);

    bool kernel_chooses() const { return addresses_.empty(); }
    bool chooses_ports() const { return choose_ports_; }
    std::size_t address_count() const { return addresses_.size(); }
    // Any thread. Goes round: all addresses and ports are used before one comes again, so that a
    // port rests as long as possible after its connection closed (TIME_WAIT).
    wire::address next();

private:
    std::vector<wire::address> addresses_;
    bool choose_ports_;
    port_range range_;
    std::atomic<std::uint64_t> next_;
};

// What the options and the server's address call for: the kernel's choice where that is as good,
// explicit ones where many connections need them, or a text that says why there are not enough.
std::variant<std::vector<wire::address>, std::string> choose_sources(const options& asked,
                                                                     const wire::address& server,
                                                                     port_range range);
// Whether ports are better chosen by us as well. Not with a connection for each request: only the
// kernel knows which ports in TIME_WAIT may be used again.
bool should_choose_ports(const options& asked, port_range range);

}  // namespace wireload
