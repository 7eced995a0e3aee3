// Reads the headers of packets that pass, and writes what was kept.
#include "recorder.hpp"

#include <fmt/format.h>
#include <string>

namespace wirelink {
namespace {

std::uint32_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
        value = value << 8U | std::to_integer<std::uint32_t>(bytes[at + i]);
    return value;
}

std::string flags_text(std::uint8_t flags) {
    std::string text;
    if (flags & syn) text += 'S';
    if (flags & acknowledges) text += 'A';
    if (flags & fin) text += 'F';
    if (flags & push) text += 'P';
    if (flags & reset) text += 'R';
    return text.empty() ? "-" : text;
}

constexpr std::uint32_t tcp = 6;
constexpr std::size_t shortest_tcp_header = 20;

// From the header of TCP to the end of the packet; nothing where that is not all there.
std::optional<std::span<const std::byte>> tcp_of_ipv4(std::span<const std::byte> packet) {
    constexpr std::size_t shortest_header = 20;
    if (packet.size() < shortest_header) return std::nullopt;
    const std::size_t ip_bytes = (number_at(packet, 0, 1) & 15U) * std::size_t{4};
    const std::size_t total = number_at(packet, 2, 2);
    const bool fragment = (number_at(packet, 6, 2) & 0x1fffU) != 0;
    if (ip_bytes < shortest_header || total > packet.size() || number_at(packet, 9, 1) != tcp ||
        fragment || total < ip_bytes + shortest_tcp_header)
        return std::nullopt;
    return packet.subspan(ip_bytes, total - ip_bytes);
}

// Kernels put no extension header before that of TCP, but for programs that ask for one.
std::optional<std::span<const std::byte>> tcp_of_ipv6(std::span<const std::byte> packet) {
    constexpr std::size_t ip_bytes = 40;
    if (packet.size() < ip_bytes) return std::nullopt;
    const std::size_t carried = number_at(packet, 4, 2);
    if (number_at(packet, 6, 1) != tcp || carried < shortest_tcp_header ||
        carried > packet.size() - ip_bytes)
        return std::nullopt;
    return packet.subspan(ip_bytes, carried);
}

}  // namespace

std::optional<tcp_segment> parse_tcp(std::span<const std::byte> packet) {
    if (packet.empty()) return std::nullopt;
    const std::uint32_t version = number_at(packet, 0, 1) >> 4U;
    if (version != 4 && version != 6) return std::nullopt;
    const auto found = version == 4 ? tcp_of_ipv4(packet) : tcp_of_ipv6(packet);
    if (!found) return std::nullopt;
    const auto header = *found;
    const std::size_t tcp_bytes = (number_at(header, 12, 1) >> 4U) * std::size_t{4};
    if (tcp_bytes < shortest_tcp_header || tcp_bytes > header.size()) return std::nullopt;
    return tcp_segment{
        .source_port = static_cast<std::uint16_t>(number_at(header, 0, 2)),
        .target_port = static_cast<std::uint16_t>(number_at(header, 2, 2)),
        .flags = static_cast<std::uint8_t>(number_at(header, 13, 1) & 31U),
        .sequence = number_at(header, 4, 4),
        .acknowledgement = number_at(header, 8, 4),
        .payload_bytes = static_cast<std::uint32_t>(header.size() - tcp_bytes),
    };
}

void recorder::note(direction way, nanoseconds sent, std::optional<nanoseconds> due,
                    std::span<const std::byte> packet) {
    if (full_) return;
    const auto segment = parse_tcp(packet);
    if (!segment) return;
    if (packets_.size() == max_packets_) {
        full_ = true;
        return;
    }
    packets_.push_back({sent, due.value_or(nanoseconds{-1}), way, *segment});
}

bool recorder::write(std::FILE* file) const {
    // fmt's own printing to a file throws without the file's name.
    const auto put = [file](const std::string& line) {
        return std::fputs(line.c_str(), file) >= 0;
    };
    if (!put(fmt::format("wirelink-packets/1 {}\n", full_ ? "first" : "all"))) return false;
    for (const entry& one : packets_) {
        const bool up = one.way == direction::upstream;
        const tcp_segment& segment = one.segment;
        const bool written = put(fmt::format(
            "{} {} {} {} {} {} {} {}\n", one.sent.count(),
            one.due.count() < 0 ? "-" : std::to_string(one.due.count()), up ? "up" : "down",
            up ? segment.source_port : segment.target_port, flags_text(segment.flags),
            segment.sequence, segment.acknowledgement, segment.payload_bytes));
        if (!written) return false;
    }
    return std::fflush(file) == 0 && std::ferror(file) == 0;
}

}  // namespace wirelink
