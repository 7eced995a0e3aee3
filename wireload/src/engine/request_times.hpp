// For each connection of a thread a ring of the times at which its requests in flight were sent.
// Request n stands at n & mask(). In an open loop three more rings follow: when each was due,
// how much later than possible it left, and by how much that displaced it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "base/clock.hpp"
#include "plan/options.hpp"

namespace wireload {

class request_times {
public:
    request_times() = default;
    request_times(const options& asked, std::uint32_t connections) {
        // One request in flight at a time, in a closed loop, needs one number: the connection's
        // own.
        if (asked.in_flight == 1 && !asked.open_loop) return;
        const std::uint32_t ring = std::bit_ceil(asked.in_flight);
        mask_ = ring - 1;
        each_ = asked.open_loop ? std::size_t{4} * ring : ring;
        // Zeroed by the kernel, page by page, as connections use it.
        times_.reset(static_cast<nanos*>(std::calloc(each_ * connections, sizeof(nanos))));
        if (times_ == nullptr) throw std::bad_alloc();
    }

    // One less than the length of a ring, a power of two.
    std::uint32_t mask() const { return mask_; }
    // Of connection `index` of this thread; null where one number is enough.
    nanos* of(std::uint32_t index) const {
        return times_ == nullptr ? nullptr : &times_[index * each_];
    }

private:
    struct release {
        void operator()(nanos* times) const noexcept { std::free(times); }
    };
    std::unique_ptr<nanos[], release> times_;
    std::size_t each_ = 1;
    std::uint32_t mask_ = 0;
};

}  // namespace wireload
