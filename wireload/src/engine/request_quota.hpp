// The counts that end a closed loop: which connection may begin one more request.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/load_order.hpp"

namespace wireload {

class request_quota {
public:
    // `threads`: all that take from the order's shared count.
    void begin(const load_order& order, std::uint32_t threads) {
        kind_ = order.kind;
        shared_ = order.shared;
        threads_ = threads;
        taken_ = 0;
    }

    // Whether a connection may begin one more request; it then must. `own` is the connection's own
    // quota.
    bool take(std::uint64_t& own) {
        if (kind_ == load_order::quota::each) {
            if (own == 0) return false;
            --own;
        } else if (kind_ == load_order::quota::shared) {
            if (taken_ == 0 && !take_some()) return false;
            --taken_;
        }
        return true;
    }
    // Whether take() would say no, and always will.
    bool is_used_up(std::uint64_t own) const {
        if (kind_ == load_order::quota::each) return own == 0;
        return kind_ == load_order::quota::shared && taken_ == 0 &&
               shared_->load(std::memory_order_relaxed) <= 0;
    }
    // The last one taken from the shared count was not begun after all.
    void give_back() {
        if (kind_ == load_order::quota::shared) ++taken_;
    }
    bool is_for_each() const { return kind_ == load_order::quota::each; }

private:
    bool take_some();

    load_order::quota kind_ = load_order::quota::endless;
    std::atomic<std::int64_t>* shared_ = nullptr;
    std::uint32_t threads_ = 1;
    std::int64_t taken_ = 0;  // from the shared count, not used yet
};

}  // namespace wireload
