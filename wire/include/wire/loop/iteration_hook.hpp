// Something an event loop does once, at the end of its present iteration.
#pragma once

#include "wire/loop/detail/nodes.hpp"

namespace wire {

// Embed it, or derive from it, and give it to event_loop::at_iteration_end(). It runs after all
// events, timers and posted work of the iteration, then is no longer queued. Streams send from
// here, so that everything one iteration produced leaves in one batch.
//
// Neither copyable nor movable, because the loop keeps its address. Everything but the constructor
// belongs to the loop's thread.
class iteration_hook : public detail::hook_node {
public:
    // Called on the loop's thread. It may queue, unlink and destroy any hook, its own included: a
    // hook queued from here runs in the same iteration. It must not throw.
    using callback = void (*)(iteration_hook&) noexcept;

    // `fn` must not be null. Not queued.
    explicit iteration_hook(callback fn) noexcept : hook_node(fn) {}
    // Unlinks.
    ~iteration_hook() { unlink(); }
    iteration_hook(const iteration_hook&) = delete;
    iteration_hook& operator=(const iteration_hook&) = delete;

    // Whether it waits for the end of an iteration.
    bool queued() const noexcept { return next_ != nullptr; }
    // Takes it out of the queue; nothing happens when it is not queued.
    void unlink() noexcept { hook_node::unlink(); }
};

}  // namespace wire
