// What can be chosen when an event loop is made.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wire {

// The kernel interface through which a loop hears of what happens. Both do the same for their
// users. io_uring keeps the sockets of streams in a table of the loop's own, so that N loops hold N
// times as many as the process may open files, and costs some percent less at thousands of
// connections. Where a socket is no descriptor of the process, stream::fd() is -1.
enum class loop_engine : std::uint8_t { automatic, epoll, io_uring };

// Plain values: fill in what matters, and give it to event_loop::create(). Values below a field's
// minimum are raised to it.
struct loop_options {
    // automatic: epoll. With io_uring (Linux 6.1) create() fails where the host forbids it, and
    // says what does. An io_uring loop must be run by one and the same thread from first to last,
    // though another may make it and attach streams to it before.
    loop_engine engine = loop_engine::automatic;

    // io_uring: how many streams the loop can hold at a time; 0 stands for the most that the kernel
    // allows, RLIMIT_NOFILE. Further streams fail to attach or connect with EMFILE.
    std::size_t max_streams = 0;

    // io_uring: how many buffers of 4 KiB the streams receive into; rounded up to a power of two
    // from 16 to 16,384. One iteration serves no more events than that.
    std::size_t receive_buffers = 256;

    // io_uring: how many operations, such as sends, one call gives to the kernel at most; rounded
    // up to a power of two from 8 to 4,096. An iteration's sends leave one after the other when
    // that many are gathered, or when it ends. Few leave sooner, many cost less.
    std::size_t operations_per_call = 256;

    // Events that one iteration takes at most; at least 16. Enough to write in large batches, few
    // enough for what they hold to stay in the cache.
    std::size_t events_per_wait = 1024;

    // Bytes of the one buffer that all streams of the loop receive into, event_loop::scratch(); at
    // least 1024. One call of stream::on_data() gives no more (with a filter: half of it).
    std::size_t receive_bytes = 64 * 1024;

    // Bytes of each block that event_loop::pool() lends for unsent data; at least 512. A stream
    // that queues more gets a larger block from the heap, which the pool keeps for the next. A
    // server's connection with more than a block unsent, after what it was just sent, sends at
    // once.
    std::size_t block_bytes = 1024;
};

}  // namespace wire
