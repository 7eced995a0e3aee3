// What an event loop keeps inside the objects that users embed: descriptors, timers and hooks.
//
// They are public bases, as intrusive containers have them, so that the loop and its engines need
// no friends and the public classes show only what users call. Not for users: the loop and its
// engines alone touch the members, on the loop's thread.
#pragma once

#include <cstdint>

#include "wire/loop/clock.hpp"

namespace wire {

class event_loop;
class io_source;
class iteration_hook;
enum class ready : std::uint32_t;

namespace detail {

class timer_heap;

// An io_source's.
struct watch_node {
    using callback = void (*)(io_source&, ready) noexcept;

    explicit watch_node(callback fn) noexcept : on_ready_(fn) {}

    callback on_ready_;
    event_loop* loop_ = nullptr;  // null: not watched
    int fd_ = -1;                 // of a stream on io_uring: -2 - its slot in the ring's table
    ready interest_{};            // none
};

// A timer's.
struct timer_node {
    using callback = void (*)(void*);

    timer_node(callback fn, void* context) noexcept : fn_(fn), context_(context) {}

    callback fn_;
    void* context_;
    timer_heap* heap_ = nullptr;  // set while it has a place there, which outlasts disarming
    time_point deadline_ = time_point::max();  // max(): not armed
    std::uint32_t place_ = 0;                  // in the heap
};

// An iteration_hook's: a link of the circular list of those that are queued.
struct hook_node {
    using callback = void (*)(iteration_hook&) noexcept;

    explicit hook_node(callback fn) noexcept : fn_(fn) {}

    void link_before(hook_node& head) noexcept {
        previous_ = head.previous_;
        next_ = &head;
        head.previous_->next_ = this;
        head.previous_ = this;
    }
    void unlink() noexcept {
        if (next_ == nullptr) return;
        next_->previous_ = previous_;
        previous_->next_ = next_;
        next_ = previous_ = nullptr;
    }

    callback fn_;
    hook_node* next_ = nullptr;  // null: not queued
    hook_node* previous_ = nullptr;
};

}  // namespace detail
}  // namespace wire
