// A moment at which an event loop calls back.
#pragma once

#include "wire/base/export.hpp"
#include "wire/loop/clock.hpp"
#include "wire/loop/detail/nodes.hpp"

namespace wire {

// Embed it in what it serves, and give it to event_loop::arm(). One deadline at a time; it rings
// once and is then disarmed.
//
// Setting a later deadline on an armed timer is one store (the loop finds out when the earlier one
// comes), so that a connection may renew its timeout at every request.
//
// Neither copyable nor movable, because the loop keeps its address. Everything but the constructor
// belongs to the loop's thread.
class WIRE_EXPORT timer : public detail::timer_node {
public:
    // Called on the loop's thread with `context`, at the deadline or soon after, never before. It
    // may arm the timer again or destroy it. It must not throw.
    using callback = void (*)(void*);

    // `fn` must not be null; `context` is handed to it as it is. Not armed.
    timer(callback fn, void* context) noexcept : timer_node(fn, context) {}

    // A timer that calls a member function of `object`, which must outlive it:
    // `timer t = timer::calling<&thing::on_timeout>(this);`
    template <auto Method, typename T> static timer calling(T* object) noexcept {
        return timer([](void* p) { (static_cast<T*>(p)->*Method)(); }, object);
    }
    // Disarms.
    ~timer();
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;

    // Whether it will ring.
    bool armed() const noexcept { return deadline_ != time_point::max(); }
    // When it will; time_point::max() while it is not armed.
    time_point deadline() const noexcept { return deadline_; }
};

}  // namespace wire
