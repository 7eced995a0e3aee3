#include "resolver.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "no_threads.hpp"

namespace wire::detail::resolver_test {

using addresses = std::vector<address>;

result<addresses> here(const std::string&, std::uint16_t port) {
    return addresses{address::loopback_v4(port)};
}

struct resolvers : ::testing::Test {
    std::unique_ptr<event_loop> loop = *event_loop::create();
    resolver names{*loop};
    std::optional<result<addresses>> found;

    void look_up(resolver::look_up how) {
        names.resolve("name.example", 80, std::move(how),
                      [this](result<addresses> answer) { found = std::move(answer); });
        EXPECT_FALSE(found);  // never from inside the call
    }
    void wait() {
        while (!found) loop->run_once();
    }
};

TEST_F(resolvers, call_back_from_the_loop) {
    look_up(here);
    wait();
    ASSERT_TRUE(*found) << found->error().message;
    EXPECT_EQ((*found)->front().to_string(), "127.0.0.1:80");
}
TEST_F(resolvers, say_so_where_no_thread_is_to_be_had) {
    {
        const testing::no_threads none;
        look_up(here);
    }
    wait();
    EXPECT_EQ(found->code(), errc::system_error);
    EXPECT_EQ(found->error().message, "cannot start a thread: Resource temporarily unavailable");
    for (int i = 0; i < 10; ++i) loop->run_once(std::chrono::milliseconds(1));
    found.reset();
    look_up(here);
    wait();
    EXPECT_TRUE(*found);
}

}  // namespace wire::detail::resolver_test
