#include "wire/base/function.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace wire::function_test {

TEST(unique_function, owns_what_cannot_be_copied) {
    auto p = std::make_unique<int>(4);
    unique_function<int(int)> f = [p = std::move(p)](int x) { return *p + x; };
    unique_function<int(int)> g = std::move(f);
    EXPECT_FALSE(f);
    EXPECT_EQ(g(3), 7);
    g = nullptr;
    EXPECT_FALSE(g);
}
TEST(unique_function, large_callables_go_to_the_heap) {
    std::array<char, 200> big{};
    big[199] = 'z';
    unique_function<char()> f = [big] { return big[199]; };
    unique_function<char()> g;
    g = std::move(f);
    EXPECT_EQ(g(), 'z');
}
TEST(unique_function, destroys_what_it_holds_once) {
    const auto alive = std::make_shared<int>(0);
    {
        unique_function<void()> f = [alive] {};
        unique_function<void()> g = std::move(f);
        EXPECT_EQ(alive.use_count(), 2);
        g = [alive, pad = std::array<char, 100>{}] { (void)pad; };
        EXPECT_EQ(alive.use_count(), 2);
    }
    EXPECT_EQ(alive.use_count(), 1);
}
TEST(unique_function, passes_move_only_arguments_and_drops_results) {
    int seen = 0;
    unique_function<void(std::unique_ptr<int>)> f = [&seen](std::unique_ptr<int> p) {
        return seen = *p;
    };
    f(std::make_unique<int>(9));
    EXPECT_EQ(seen, 9);
}

}  // namespace wire::function_test
