#include "engine/source_ports.hpp"

#include <utility>

#include "base/random.hpp"

namespace wireload {

source_ports::source_ports(std::vector<wire::address> addresses, bool choose_ports,
                           port_range range, std::uint64_t start)
    : addresses_(std::move(addresses)),
      choose_ports_(choose_ports && !addresses_.empty()),
      range_(range),
      next_((start * golden_gamma >> 33) % range.size() * addresses_.size()) {}

wire::address source_ports::next() {
    const std::uint64_t n = next_.fetch_add(1, std::memory_order_relaxed);
    wire::address out = addresses_[n % addresses_.size()];
    out.set_port(choose_ports_ ? static_cast<std::uint16_t>(range_.first +
                                                            n / addresses_.size() % range_.size())
                               : 0);
    return out;
}

}  // namespace wireload
