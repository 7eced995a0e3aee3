// The PROXY protocol, versions 1 and 2: the header by which a proxy says, before anything else on a
// connection, for whom it made it (haproxy.org, "The PROXY protocol", 2020/03/05).
//
//     wire::proxy_header_parser parser(limits.max_proxy_header_bytes);
//     const auto s = parser.parse(received);
//     received.remove_prefix(s.consumed);
//     if (s.what == wire::proxy_header_parser::event::complete) use(parser.header());
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/base/export.hpp"
#include "wire/proto/ip_endpoint.hpp"

namespace wire {

// What a header says.
struct proxy_header {
    enum class kind : std::uint8_t {
        own,          // LOCAL: the connection is the proxy's own, a health check
        unknown,      // somebody else's, and it does not say whose: UNKNOWN, UNSPEC, datagrams
        ip,           // TCP over IPv4 or IPv6
        unix_socket,  // the client's connection is one of Unix sockets; its paths are dropped
    };
    kind what = kind::own;
    // With kind::ip: the client, and whom the client connected to. Both have one family.
    ip_endpoint source;
    ip_endpoint destination;
};

// Reads one header. Uses up the bytes of the header and not one more.
class WIRE_EXPORT proxy_header_parser {
public:
    // A header of version 2 may be `most_bytes` long; one of version 1 never more than 107.
    explicit proxy_header_parser(std::size_t most_bytes) noexcept : most_bytes_(most_bytes) {}

    enum class event : std::uint8_t {
        need_more,  // all bytes were used up
        complete,   // header() is valid, and nothing more may be parsed
        failed,     // malformed, too long, or its checksum is wrong: drop the connection
    };
    struct step {
        std::size_t consumed = 0;
        event what = event::need_more;
    };

    // The next bytes of the connection, however cut; they need not stay.
    step parse(std::string_view bytes);

    // Precondition: parse() returned event::complete.
    const proxy_header& header() const noexcept { return header_; }

private:
    std::size_t wanted() const noexcept;
    event look();
    event look_at_line();
    event look_at_block();
    void take_addresses(std::string_view block, bool v6) noexcept;
    bool take_extensions(std::string_view block) const noexcept;

    std::size_t most_bytes_;
    std::string held_;  // of the header, so far
    proxy_header header_;
};

}  // namespace wire
