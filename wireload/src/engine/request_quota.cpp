#include "engine/request_quota.hpp"

#include <algorithm>

namespace wireload {

// Takes a few at a time, so that threads do not fight over the count, and single ones at its end,
// so that no thread is left with a heap of them.
bool request_quota::take_some() {
    const std::int64_t left = shared_->load(std::memory_order_relaxed);
    const std::int64_t wanted =
        std::clamp<std::int64_t>(left / (8 * std::int64_t{threads_}), 1, 64);
    taken_ =
        std::clamp<std::int64_t>(shared_->fetch_sub(wanted, std::memory_order_relaxed), 0, wanted);
    return taken_ != 0;
}

}  // namespace wireload
