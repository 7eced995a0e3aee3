// The connect phase of one order: connections are opened one after another, so many at a time.
#pragma once

#include <cstdint>
#include <optional>

namespace wireload {

class opening_phase {
public:
    void begin(std::uint32_t at_once) {
        active_ = true;
        given_up_ = false;
        next_ = under_way_ = 0;
        at_once_ = at_once;
    }
    void end() { active_ = false; }
    bool active() const { return active_; }
    std::uint32_t at_once() const { return at_once_; }
    // No further one is opened.
    void give_up() { given_up_ = true; }

    // The next of `total` connections to look at, while fewer than `at_once` are being opened.
    std::optional<std::uint32_t> take(std::uint32_t total) {
        if (given_up_ || under_way_ >= at_once_ || next_ >= total) return std::nullopt;
        return next_++;
    }
    void begun() { ++under_way_; }
    // One of those begun is open, or has failed.
    void decided() { --under_way_; }
    bool all_decided(std::uint32_t total) const {
        return under_way_ == 0 && (given_up_ || next_ >= total);
    }

private:
    bool active_ = false;
    bool given_up_ = false;
    std::uint32_t next_ = 0;
    std::uint32_t under_way_ = 0;
    std::uint32_t at_once_ = 0;
};

}  // namespace wireload
