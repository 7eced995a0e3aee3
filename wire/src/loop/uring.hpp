// A bare io_uring: the two rings shared with the kernel, a table of files that are no descriptors
// of the process, and a ring of buffers that the kernel receives into. Raw system calls; the policy
// is in uring_engine.
//
//     state       comes about by    allowed
//     disabled    create()          queue(), install(), from any one thread
//     started     start()           all, from the thread that called start()
//
//     an operation is        by                           owned by
//     waiting                queue() while it is full     waiting_
//     queued                 queue()                      the submission ring, not yet the kernel's
//     under way              submit...()                  the kernel
//     complete               the kernel                   the completion ring, until take()
//
//     a receive buffer is    by
//     the kernel's           create(), recycle()
//     ours                   a completion that names it, until recycle()
//
// One thread submits, and the kernel works on completions only when that thread asks
// (DEFER_TASKRUN, Linux 6.1): this is the set-up that was measured to pay.
#pragma once

#include <linux/io_uring.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wire/base/result.hpp"

namespace wire::detail {

struct uring_settings {
    unsigned entries = 256;       // submissions that can be gathered; a power of two
    unsigned completions = 4096;  // a power of two
    unsigned files = 1024;        // slots of the table; at most RLIMIT_NOFILE
    unsigned buffers = 256;       // a power of two
    unsigned buffer_bytes = 4096;
};

class uring {
public:
    using clock = std::chrono::steady_clock;

    // What the kernel says of one operation.
    struct completion {
        std::uint64_t user_data;
        std::int32_t result;
        std::uint32_t flags;
    };

    // Any thread may make it, and queue and register until start().
    static result<std::unique_ptr<uring>> create(const uring_settings& settings);
    ~uring();
    uring(const uring&) = delete;
    uring& operator=(const uring&) = delete;

    // From here on all belongs to the calling thread. Call it once.
    result<void> start();
    bool started() const noexcept { return started_; }

    // Readable when completions have come, or work that becomes completions when asked for, since
    // submit_and_wait() began; -1 when there is no descriptor to be had. An eventfd, made when it
    // is first asked for: polling the ring's own does not wake those who let work be done only when
    // they ask.
    int descriptor() noexcept;
    // Completions, or such work, are there now.
    bool has_work() const noexcept;

    // Queues an operation; what it points to must live until it is submitted. Does not submit.
    void queue(const io_uring_sqe& operation);
    // Whether the next queue() would have to keep it aside until others are submitted.
    bool full() const noexcept { return !waiting_.empty() || sq_tail_ - submitted_ == sq_entries_; }
    bool has_queued() const noexcept { return sq_tail_ != submitted_ || !waiting_.empty(); }

    // Submits all that is queued. Before start(), or from a wrong thread (at the very end), it
    // stays queued.
    void submit() noexcept;
    // Submits, waits at most `longest` (max(): without limit) for a completion, and takes all that
    // are ready, up to about `most`.
    void submit_and_wait(clock::duration longest, std::size_t most) noexcept;
    // Submits, and lets the kernel finish what it has to do on this thread, without waiting: a
    // cancelled operation, for one, keeps its socket open until then.
    void work_off() noexcept;

    std::size_t ready() const noexcept;
    // No more find a place: what completes now is told only after some were taken.
    bool has_no_place() const noexcept { return ready() == cq_entries_; }
    // The i-th completion that is ready; precondition: i < ready().
    completion peek(std::size_t i) const noexcept;
    completion take() noexcept;  // precondition: ready() > 0

    // ---- the table of files ----

    unsigned file_slots() const noexcept { return files_; }
    // Puts a file into a free slot; the descriptor may then be closed.
    result<void> install(unsigned slot, int fd) noexcept;

    // ---- buffers to receive into (group 0) ----

    static constexpr std::uint16_t buffer_group = 0;
    std::span<char> buffer(unsigned id) noexcept {
        return {buffer_memory_ + id * buffer_stride(), buffer_bytes_};
    }
    // Gives it back to the kernel.
    void recycle(unsigned id) noexcept;

private:
    uring() = default;
    result<void> set_up(const uring_settings& settings);
    result<void> set_up_buffers(const uring_settings& settings);
    int enter(unsigned wait_for, unsigned flags, const clock::duration* longest) noexcept;
    void advance() noexcept;
    // Buffers are used in turn, and most of what comes is short: were they whole pages apart, all
    // beginnings would lie in the same few sets of the cache.
    std::size_t buffer_stride() const noexcept { return buffer_bytes_ + std::size_t{192}; }

    int fd_ = -1;
    int event_fd_ = -1;
    bool started_ = false;

    void* rings_ = nullptr;
    std::size_t rings_bytes_ = 0;
    io_uring_sqe* sqes_ = nullptr;
    std::size_t sqes_bytes_ = 0;
    unsigned sq_entries_ = 0;
    unsigned cq_entries_ = 0;
    unsigned* sq_shared_head_ = nullptr;
    unsigned* sq_shared_tail_ = nullptr;
    unsigned sq_tail_ = 0;
    unsigned submitted_ = 0;
    unsigned* cq_shared_head_ = nullptr;
    unsigned* cq_shared_tail_ = nullptr;
    io_uring_cqe* cqes_ = nullptr;
    std::vector<io_uring_sqe> waiting_;  // found no place

    unsigned files_ = 0;

    io_uring_buf* buffer_ring_ = nullptr;
    std::size_t buffer_ring_bytes_ = 0;
    char* buffer_memory_ = nullptr;
    std::size_t buffer_memory_bytes_ = 0;
    unsigned buffers_ = 0;
    unsigned buffer_bytes_ = 0;
    std::uint16_t buffer_tail_ = 0;
};

}  // namespace wire::detail
