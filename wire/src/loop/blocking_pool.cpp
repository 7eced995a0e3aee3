// The pool's threads: each takes the oldest work, runs it, and waits for more.
//
// run() starts a thread when more work waits than threads are idle, up to the limit; a thread ends
// with the pool only. mutex_ is held while the queue and the counts are touched, never while work
// runs.
#include "wire/loop/blocking_pool.hpp"

#include <algorithm>

namespace wire {

blocking_pool::blocking_pool(unsigned threads) : most_(std::max(threads, 1U)) {}

blocking_pool::~blocking_pool() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    ready_.notify_all();
    for (std::thread& t : threads_) t.join();
}

void blocking_pool::run(unique_function<void()> work) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(work));
        if (idle_ < waiting_.size() && threads_.size() < most_) {
            try {
                threads_.emplace_back([this] { serve(); });
            } catch (...) {
                if (threads_.empty()) {
                    work = std::move(waiting_.back());  // destroyed without the lock
                    waiting_.pop_back();
                    throw;
                }  // else those that there are do it
            }
        }
    }
    ready_.notify_one();
}

void blocking_pool::serve() {
    for (;;) {
        unique_function<void()> work;
        {
            std::unique_lock lock(mutex_);
            ++idle_;
            ready_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
            --idle_;
            if (stopping_) return;
            work = std::move(waiting_.front());
            waiting_.pop_front();
        }
        work();
    }
}

}  // namespace wire
