#include "plan/source_addresses.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

namespace wireload {
namespace {

// A part of the range stays for everybody else on this host.
std::uint32_t usable(port_range range) { return range.size() - range.size() / 8; }

// The most connections to one address of 127.0.0.0/8.
std::uint64_t most_on_loopback(const std::vector<destination>& to) {
    std::uint64_t most = 0;
    for (const destination& d : to) {
        if (d.server.family() == AF_INET && is_loopback(d.server))
            most = std::max(most, d.connections);
    }
    return most;
}

}  // namespace

port_range local_port_range() {
    std::ifstream in("/proc/sys/net/ipv4/ip_local_port_range");
    port_range out;
    unsigned first = 0, last = 0;
    if (in >> first >> last && first > 0 && last >= first && last <= 65535) {
        out.first = static_cast<std::uint16_t>(first);
        out.last = static_cast<std::uint16_t>(last);
    }
    return out;
}

bool should_choose_ports(const options& asked, port_range range) {
    return asked.keep_alive && asked.connections > range.size() / 4;
}

bool takes_source(const options& asked, const wire::address& source, const wire::address& server) {
    return source.family() == server.family() && (!asked.sources.empty() || is_loopback(server));
}

std::variant<std::vector<wire::address>, std::string> choose_sources(
    const options& asked, const std::vector<destination>& to, port_range range) {
    std::vector<wire::address> out;
    for (const std::string& text : asked.sources) {
        auto parsed = wire::address::parse(text, 0);
        if (!parsed)
            return fmt::format(
                "--source {}: give the address of an interface of this host, such as 192.0.2.7",
                text);
        // Of several servers, too: connections to one of another family would come from wherever
        // the kernel has it.
        for (const destination& d : to) {
            if (parsed->family() == d.server.family()) continue;
            return fmt::format(
                "--source {}: not of the same family (IPv4 or IPv6) as the server, {}; give one of "
                "its family, or leave it out",
                text, d.server.to_string());
        }
        out.push_back(*parsed);
    }
    const std::uint64_t on_loopback = most_on_loopback(to);
    if (out.empty() && on_loopback != 0 &&
        (!asked.keep_alive || should_choose_ports(asked, range))) {
        // One address for each share of the ports, and more: ports of connections that were closed,
        // in this run or the one before, rest for up to a minute before they can be used again
        // (TIME_WAIT).
        const std::uint64_t wanted = on_loopback / usable(range) + 16;
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(wanted, 250); ++i) {
            // From 127.0.0.2: 127.0.0.1 stays with everybody else.
            out.push_back(*wire::address::parse(fmt::format("127.0.0.{}", i + 2), 0));
        }
    }
    for (const destination& d : to) {
        const std::size_t addresses =
            !out.empty() && takes_source(asked, out.front(), d.server) ? out.size() : 1;
        const std::uint64_t room = std::uint64_t{usable(range)} * addresses;
        if (d.connections <= room) continue;
        return fmt::format(
            "{} connections need more local ports than there are: {} to one server from {} "
            "address(es). Lower {}, give more "
            "addresses of this host with --source, or widen the range: sysctl "
            "net.ipv4.ip_local_port_range",
            d.connections, room, addresses, asked.ramp ? "--ramp-rounds or --ramp-add" : "-c");
    }
    return out;
}

}  // namespace wireload
