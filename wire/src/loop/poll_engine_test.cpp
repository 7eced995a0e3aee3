#include "blocking_loop.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace wire::detail::poll_engine_test {

using namespace std::chrono_literals;

// An eventfd that can be read, and written to.
struct bell : io_source {
    explicit bell(event_loop& loop, ready interest = ready::read)
        : io_source(&bell::rung), fd(::eventfd(1, EFD_NONBLOCK)) {
        EXPECT_TRUE(loop.watch(*this, fd, interest));
    }
    ~bell() { ::close(fd); }
    static void rung(io_source& s, ready what) noexcept {
        auto& self = static_cast<bell&>(s);
        self.told = what;
        ++self.count;
        if (self.action) self.action();  // may destroy the bell
    }
    int fd;
    int count = 0;
    ready told = ready::none;
    unique_function<void()> action;
};

TEST(poll_engine, tells_what_is_asked_until_unwatched) {
    const auto loop = blocking_loop();
    bell a(*loop);
    bell b(*loop, ready::write);
    EXPECT_EQ(loop->run_once(0ms), 2U);
    EXPECT_EQ(a.told, ready::read);
    EXPECT_EQ(b.told, ready::write);
    loop->rewatch(a, ready::none);
    loop->rewatch(b, ready::read | ready::write);
    loop->run_once(0ms);
    EXPECT_EQ(a.count, 1);
    EXPECT_EQ(b.told, ready::read | ready::write);
    loop->unwatch(b);
    EXPECT_FALSE(b.watched());
    EXPECT_EQ(loop->run_once(0ms), 0U);
    EXPECT_EQ(b.count, 2);
}
TEST(poll_engine, says_that_the_other_end_is_gone) {
    const auto loop = blocking_loop();
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    bell b(*loop);
    loop->unwatch(b);
    ASSERT_TRUE(loop->watch(b, ends[1], ready::none));
    ::close(ends[0]);
    loop->run_once(0ms);
    EXPECT_EQ(b.told, ready::failed);
    loop->unwatch(b);
    ::close(ends[1]);
}
TEST(poll_engine, sources_come_and_go_in_the_middle_of_an_iteration) {
    const auto loop = blocking_loop();
    std::vector<std::unique_ptr<bell>> bells;
    for (int i = 0; i < 10; ++i) bells.push_back(std::make_unique<bell>(*loop));
    std::unique_ptr<bell> fresh;
    bells[3]->action = [&] {
        for (const std::size_t gone : {0U, 4U, 5U, 9U}) bells[gone].reset();
        if (fresh == nullptr) fresh = std::make_unique<bell>(*loop);
    };
    loop->run_once(0ms);
    ASSERT_NE(fresh, nullptr);
    EXPECT_EQ(fresh->count, 0);  // it was not asked for when the iteration began
    for (const std::size_t i : {1U, 2U, 3U, 6U, 7U, 8U}) EXPECT_EQ(bells[i]->count, 1) << i;
    loop->run_once(0ms);
    EXPECT_EQ(fresh->count, 1);
    bells[8]->action = [&] {
        auto* const all = &bells;
        all->clear();  // this one too
    };
    loop->run_once(0ms);
    EXPECT_EQ(fresh->count, 2);
    EXPECT_EQ(loop->run_once(0ms), 1U);
}
TEST(poll_engine, does_not_wait_where_something_is_due) {
    const auto loop = blocking_loop();
    std::string log;
    struct hook : iteration_hook {
        explicit hook(std::string& l)
            : iteration_hook(
                  [](iteration_hook& h) noexcept { static_cast<hook&>(h).log->append("hook "); }),
              log(&l) {}
        std::string* log;
    } h(log);
    loop->at_iteration_end(h);
    loop->run_once();
    loop->post([&] { log += "post "; });
    loop->run_once();
    timer t([](void* l) { static_cast<std::string*>(l)->append("timer"); }, &log);
    loop->arm_after(t, 1ms);
    while (t.armed()) loop->run_once();
    EXPECT_EQ(log, "hook post timer");
}
TEST(poll_engine, looks_once_where_the_time_is_over) {
    const auto loop = blocking_loop();
    bell b(*loop);
    EXPECT_EQ(loop->run_once(clock::duration(-1)), 1U);
    EXPECT_EQ(loop->run_once(clock::duration(-2s)), 1U);
    EXPECT_EQ(b.count, 2);
}
TEST(poll_engine, another_thread_may_post) {
    const auto loop = blocking_loop();
    bool told = false;
    std::thread other([&] { loop->post([&] { told = true; }); });
    while (!told) loop->run_once();
    other.join();
}
TEST(poll_engine, is_not_for_other_loops_to_watch) { EXPECT_EQ(blocking_loop()->descriptor(), -1); }

}  // namespace wire::detail::poll_engine_test
