// Threads for work that blocks (files, databases, sleeping), so that loops never do.
//
//     pool.run([&loop, done = std::move(done)]() mutable {
//         auto rows = query();  // on the pool's thread
//         loop.post([rows = std::move(rows), done = std::move(done)]() mutable { done(rows); });
//     });
//
// run_in.hpp does the same for coroutines.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/function.hpp"

namespace wire {

// Must outlive all that may call run(). Neither copyable nor movable.
class WIRE_EXPORT blocking_pool {
public:
    // At most `threads` of them; 0 stands for 1. Threads are started when there is work for them: a
    // process with only one thread makes cheaper system calls.
    explicit blocking_pool(unsigned threads);
    // Work that has not begun is dropped; work that has is waited for. Not from a thread of the
    // pool.
    ~blocking_pool();
    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;

    // Any thread. Begun in the order of submission, each on whichever thread is free; `work` must
    // not throw, and must own what it uses. The queue is unbounded. Throws std::bad_alloc, or
    // std::system_error when there is no thread yet and none can be started: `work` is then
    // dropped.
    void run(unique_function<void()> work);

private:
    void serve();

    std::mutex mutex_;
    std::condition_variable ready_;
    // The following are guarded by mutex_.
    std::deque<unique_function<void()>> waiting_;
    std::vector<std::thread> threads_;
    std::size_t most_;
    std::size_t idle_ = 0;
    bool stopping_ = false;
};

}  // namespace wire
