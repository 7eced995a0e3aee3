// The loop inside a blocking client.
#pragma once

#include <memory>

#include "wire/loop/event_loop.hpp"

namespace wire::detail {

// A loop for one thread that waits for one thing after another and hands the loop to nobody. It
// cannot be embedded in another. Before another thread may post to it, call
// loop_core::make_wakeable(); without that the loop may take 50 ms to find out.
std::unique_ptr<event_loop> blocking_loop();

}  // namespace wire::detail
