// What passed over the link: times, direction, flags, numbers and lengths of TCP packets, in memory
// until the end. Enough to say what a request waited for; no byte of what was said is kept.
#pragma once

#include "delay_line.hpp"

#include <cstdio>

namespace wirelink {

enum class direction : std::uint8_t { upstream, downstream };  // to the server, to the client

// The flags of a TCP header that a record keeps, as they stand there (RFC 9293, section 3.1).
enum tcp_flag : std::uint8_t { fin = 1, syn = 2, reset = 4, push = 8, acknowledges = 16 };

struct tcp_segment {
    std::uint16_t source_port = 0;
    std::uint16_t target_port = 0;
    std::uint8_t flags = 0;
    std::uint32_t sequence = 0;
    std::uint32_t acknowledgement = 0;
    std::uint32_t payload_bytes = 0;
};

// The header of a whole packet of IPv4 or IPv6 that carries TCP; nothing for any other bytes.
std::optional<tcp_segment> parse_tcp(std::span<const std::byte> packet);

// Keeps the first `max_packets` packets, in memory taken at once: nothing is allocated or written
// while packets pass.
class recorder {
public:
    explicit recorder(std::size_t max_packets) : max_packets_(max_packets) {
        packets_.reserve(max_packets);
    }

    // `sent`: when it reached the link. `due`: when it leaves at the other end; nothing for a
    // packet that is lost. Packets that are not TCP are left out.
    void note(direction way, nanoseconds sent, std::optional<nanoseconds> due,
              std::span<const std::byte> packet);

    // A line that says what follows and whether all packets are there, then a line a packet, in the
    // order in which they were sent: sent ns, due ns or "-", "up" or "down", the client's port,
    // flags of "SAFPR" or "-", sequence number, acknowledgement number, bytes of payload. Returns
    // false when not all could be written.
    bool write(std::FILE* file) const;

private:
    struct entry {
        nanoseconds sent;
        nanoseconds due;  // negative: lost
        direction way;
        tcp_segment segment;
    };

    std::size_t max_packets_;
    bool full_ = false;
    std::vector<entry> packets_;
};

}  // namespace wirelink
