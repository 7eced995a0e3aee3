// One direction of an emulated path: a bottleneck of a given rate with a drop-tail queue, followed
// by a propagation delay. Sans-IO: the caller brings the clock and the packets, so that it can be
// tested exactly.
//
// Order of effects on a packet: loss, queue limit, serialisation at `rate_bits_per_second`, then
// delay with jitter. Jitter alone never reorders (a later packet leaves no earlier than the one
// before it); a packet chosen by `reorder` skips the delay, as it does with Linux tc-netem(8), and
// so overtakes those in flight.
//
// What the seed decides about a packet depends on its number alone, and not on when it came.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <random>
#include <span>
#include <vector>

namespace wirelink {

using nanoseconds = std::chrono::nanoseconds;

struct path_options {
    nanoseconds delay{0};                    // one way
    nanoseconds jitter{0};                   // uniform in [-jitter, +jitter] around `delay`
    std::uint64_t rate_bits_per_second = 0;  // 0: no limit
    double loss = 0;                         // probability in [0, 1]
    double reorder = 0;                      // probability in [0, 1]
    std::size_t queue_packets = 1000;        // waiting for the bottleneck; tc-netem's default limit
    std::uint64_t seed = 1;
};

struct path_counters {
    std::uint64_t forwarded = 0;
    std::uint64_t bytes = 0;
    std::uint64_t lost = 0;        // by `loss`
    std::uint64_t overflowed = 0;  // by `queue_packets` or the bound on packets in flight
    std::uint64_t reordered = 0;
};

// Whether a packet is one that kernels send by themselves, at times of their own, over any device
// that has IPv6: a solicitation of routers or neighbours, or a report of groups (RFC 4861,
// RFC 3810). They are ICMPv6 to addresses of the link's groups, ff02::/16.
inline bool is_of_the_kernel(std::span<const std::byte> packet) {
    constexpr std::size_t header_bytes = 40;
    constexpr std::size_t next_header = 6;
    constexpr std::size_t target = 24;
    constexpr int hop_by_hop = 0;  // before reports of groups
    constexpr int icmp = 58;
    const auto at = [&](std::size_t offset) { return std::to_integer<int>(packet[offset]); };
    return packet.size() >= header_bytes && at(0) >> 4 == 6 && at(target) == 0xff &&
           at(target + 1) == 0x02 && (at(next_header) == icmp || at(next_header) == hop_by_hop);
}

class delay_line {
public:
    // However long the delay and however fast the sender, no more than this is kept.
    static constexpr std::size_t max_packets_in_flight = 65536;

    explicit delay_line(const path_options& options)
        : options_(options), random_(options.seed), random_of_kernel_(~options.seed) {}

    // Takes a copy of the packet that arrived at `now` (any monotonic clock, the same at every
    // call). Returns when it is due, or nothing when it is dropped.
    std::optional<nanoseconds> push(nanoseconds now, std::span<const std::byte> packet) {
        const fate drawn = draw(is_of_the_kernel(packet) ? random_of_kernel_ : random_);
        if (drawn.lost) {
            ++counters_.lost;
            return std::nullopt;
        }
        const nanoseconds start = std::max(now, link_free_);
        if (waiting(now) >= options_.queue_packets || in_flight_.size() >= max_packets_in_flight) {
            ++counters_.overflowed;
            return std::nullopt;
        }
        link_free_ = start + serialisation(packet.size());
        nanoseconds due = link_free_;
        if (drawn.overtakes) {
            ++counters_.reordered;
        } else {
            due = std::max(due + options_.delay + drawn.jitter, last_due_);
            last_due_ = due;
        }
        if (link_free_ > now) departures_.push(link_free_);
        in_flight_.push({due, sequence_++, {packet.begin(), packet.end()}});
        return due;
    }

    // When the next packet is to be delivered; nothing when none is in flight.
    std::optional<nanoseconds> next_due() const {
        if (in_flight_.empty()) return std::nullopt;
        return in_flight_.top().due;
    }

    // Calls `deliver(std::span<const std::byte>, nanoseconds due)` for every packet due at `now`,
    // in order of their due times.
    template <typename Deliver> std::size_t pop_due(nanoseconds now, Deliver&& deliver) {
        std::size_t count = 0;
        while (!in_flight_.empty() && in_flight_.top().due <= now) {
            const packet& next = in_flight_.top();
            deliver(std::span<const std::byte>(next.data), next.due);
            ++counters_.forwarded;
            counters_.bytes += next.data.size();
            in_flight_.pop();
            ++count;
        }
        return count;
    }

    const path_counters& counters() const { return counters_; }

private:
    struct packet {
        nanoseconds due;
        std::uint64_t sequence;
        std::vector<std::byte> data;
        bool operator>(const packet& other) const {
            return due != other.due ? due > other.due : sequence > other.sequence;
        }
    };

    struct fate {
        bool lost;
        bool overtakes;
        nanoseconds jitter;
    };

    // As many numbers for each packet, also for one that will find the queue full: those after it
    // would fare otherwise as soon as it came a moment later.
    fate draw(std::mt19937_64& random) {
        return {.lost = options_.loss > 0 && uniform_(random) < options_.loss,
                .overtakes = options_.reorder > 0 && uniform_(random) < options_.reorder,
                .jitter = draw_jitter(random)};
    }

    nanoseconds serialisation(std::size_t bytes) const {
        if (options_.rate_bits_per_second == 0) return nanoseconds{0};
        const double seconds =
            static_cast<double>(bytes) * 8.0 / static_cast<double>(options_.rate_bits_per_second);
        return nanoseconds{static_cast<std::int64_t>(seconds * 1e9)};
    }

    nanoseconds draw_jitter(std::mt19937_64& random) {
        if (options_.jitter.count() == 0) return nanoseconds{0};
        const double share = 2 * uniform_(random) - 1;
        return nanoseconds{
            static_cast<std::int64_t>(share * static_cast<double>(options_.jitter.count()))};
    }

    // Packets that have not yet left the bottleneck.
    std::size_t waiting(nanoseconds now) {
        while (!departures_.empty() && departures_.front() <= now) departures_.pop();
        return departures_.size();
    }

    path_options options_;
    path_counters counters_;
    std::mt19937_64 random_;
    // Of packets of the kernel, which come in no fixed order with the others.
    std::mt19937_64 random_of_kernel_;
    std::uniform_real_distribution<double> uniform_{0.0, 1.0};
    nanoseconds link_free_{0};
    nanoseconds last_due_{0};
    std::uint64_t sequence_ = 0;
    std::queue<nanoseconds> departures_;
    std::priority_queue<packet, std::vector<packet>, std::greater<>> in_flight_;
};

}  // namespace wirelink
