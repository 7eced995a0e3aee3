// Threads for work that blocks (files, databases, sleeping), so that loops never do.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "wire/base/function.hpp"

namespace wire {

class blocking_pool {
public:
    // Threads are started when there is work for them: a process with only one thread makes cheaper
    // system calls.
    explicit blocking_pool(unsigned threads);
    // Work that has not begun is dropped; work that has is waited for.
    ~blocking_pool();
    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;

    // Any thread. In order of submission; `work` must not throw.
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
