// Threads for work that blocks (files, databases, sleeping), so that loops never do.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "wire/base/function.hpp"

namespace wire {

class blocking_pool {
public:
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
    std::deque<unique_function<void()>> waiting_;  // these two guarded by mutex_
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace wire
