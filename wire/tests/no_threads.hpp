// A process that can start no thread, as under a limit on processes.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace wire::testing {

// While it lives each thread would need a larger stack than there are addresses.
class no_threads {
public:
    no_threads() {
        EXPECT_EQ(::pthread_getattr_default_np(&before_), 0);
        pthread_attr_t huge;
        EXPECT_EQ(::pthread_getattr_default_np(&huge), 0);
        EXPECT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{1} << 56U), 0);
        EXPECT_EQ(::pthread_setattr_default_np(&huge), 0);
        ::pthread_attr_destroy(&huge);
    }
    ~no_threads() {
        ::pthread_setattr_default_np(&before_);
        ::pthread_attr_destroy(&before_);
    }
    no_threads(const no_threads&) = delete;
    no_threads& operator=(const no_threads&) = delete;

private:
    pthread_attr_t before_;
};

}  // namespace wire::testing
