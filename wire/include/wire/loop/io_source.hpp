// A descriptor that an event loop watches for readiness: a pipe, an eventfd, a socket that is not a
// stream's.
#pragma once

#include <cstdint>

#include "wire/base/export.hpp"
#include "wire/loop/detail/nodes.hpp"

namespace wire {

class event_loop;

// What a descriptor is watched for, and what it turned out to be ready for: a set of flags.
// `failed` is reported whether it was asked for or not: an error is pending, or the other end is
// gone. `shared` is for watch() alone, and a hint: loops of several threads or processes watch this
// socket, and one of them is enough to wake (EPOLLEXCLUSIVE). Such a source must not be rewatched.
enum class ready : std::uint32_t { none = 0, read = 1, write = 2, failed = 4, shared = 8 };

// Both sets together.
constexpr ready operator|(ready a, ready b) noexcept {
    return static_cast<ready>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
// Whether `set` holds any flag of `flag`.
constexpr bool has(ready set, ready flag) noexcept {
    return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(flag)) != 0;
}

// A descriptor known to a loop: embed it, or derive from it, and give it to event_loop::watch().
// Level-triggered: the callback comes in each loop iteration in which the descriptor is ready.
//
// Watching does not own the descriptor: unwatch before closing it. Neither copyable nor movable,
// because the loop keeps its address. Everything but the constructor belongs to the loop's thread.
class WIRE_EXPORT io_source : public detail::watch_node {
public:
    // Called on the loop's thread with what the descriptor is ready for. It may unwatch and destroy
    // its own source or any other, whose events of the same iteration are then dropped. It must not
    // throw.
    using callback = void (*)(io_source&, ready) noexcept;

    // `fn` must not be null. Not watched until event_loop::watch().
    explicit io_source(callback fn) noexcept : watch_node(fn) {}
    // Unwatches.
    ~io_source();
    io_source(const io_source&) = delete;
    io_source& operator=(const io_source&) = delete;

    // The watched descriptor; -1 while there is none.
    int fd() const noexcept { return fd_; }
    // Whether a loop watches it.
    bool watched() const noexcept { return loop_ != nullptr; }
    // The loop that watches it; null while none does.
    event_loop* loop() const noexcept { return loop_; }
};

}  // namespace wire
