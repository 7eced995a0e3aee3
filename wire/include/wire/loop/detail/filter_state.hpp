// What a stream keeps for its filter: in the filter, so that streams without one do not pay for it.
// Not for users and not for filters: only the stream touches the members.
#pragma once

#include "wire/base/buffer.hpp"
#include "wire/base/result.hpp"

namespace wire::detail {

struct filter_state {
    filter_state() noexcept = default;
    filter_state(const filter_state&) = delete;
    filter_state& operator=(const filter_state&) = delete;
    ~filter_state() {
        if (gone_ != nullptr) *gone_ = true;
    }

    buffer to_peer_;         // not yet taken by the socket
    buffer held_;            // received while the user did not read, not yet given to receive()
    error failure_;          // found while sending, reported at the end of the iteration
    bool* gone_ = nullptr;   // set when this is destroyed
    bool more_ = false;      // receive() has to be called before the socket is read again
    bool finished_ = false;  // finish() was called
};

}  // namespace wire::detail
