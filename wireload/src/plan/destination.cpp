#include "plan/destination.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstddef>
#include <map>
#include <string>

namespace wireload {

std::vector<destination> destinations_of(const std::vector<target>& targets) {
    std::vector<destination> out;
    std::map<std::string, std::size_t> known;
    for (const target& t : targets) {
        const auto [at, is_new] = known.emplace(t.server.to_string(), out.size());
        if (is_new) out.push_back({t.server, 0});
        out[at->second].connections += t.connections;
    }
    return out;
}

bool is_loopback(const wire::address& a) {
    if (a.family() == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(a.raw())->sin6_addr);
    return a.family() == AF_INET &&
           (ntohl(reinterpret_cast<const sockaddr_in*>(a.raw())->sin_addr.s_addr) >> 24) == 127;
}

}  // namespace wireload
