// Lets no thread start for as long as it lives: each asks for a stack that no address space holds.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace wire::testing {

class no_threads {
public:
    no_threads() {
        pthread_attr_t attributes;
        EXPECT_EQ(::pthread_getattr_default_np(&attributes), 0);
        EXPECT_EQ(::pthread_attr_getstacksize(&attributes, &before_), 0);
        ::pthread_attr_destroy(&attributes);
        set(std::size_t{1} << 47);
    }
    ~no_threads() { set(before_); }
    no_threads(const no_threads&) = delete;
    no_threads& operator=(const no_threads&) = delete;

private:
    static void set(std::size_t stack_bytes) {
        pthread_attr_t attributes;
        EXPECT_EQ(::pthread_getattr_default_np(&attributes), 0);
        EXPECT_EQ(::pthread_attr_setstacksize(&attributes, stack_bytes), 0);
        EXPECT_EQ(::pthread_setattr_default_np(&attributes), 0);
        ::pthread_attr_destroy(&attributes);
    }
    std::size_t before_ = 0;
};

}  // namespace wire::testing
