#include "wire/loop/event_loop.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "wire/loop/socket.hpp"

namespace wire::event_loop_test {

using namespace std::chrono_literals;

std::unique_ptr<event_loop> make_loop(const loop_options& options = {}) {
    auto loop = event_loop::create(options);
    EXPECT_TRUE(loop);
    return *std::move(loop);
}

// An eventfd that does something when it is readable.
struct bell : io_source {
    explicit bell(event_loop& loop) : io_source(&bell::rung), fd(::eventfd(1, EFD_NONBLOCK)) {
        EXPECT_TRUE(loop.watch(*this, fd, ready::read));
    }
    ~bell() { ::close(fd); }
    static void rung(io_source& s, ready what) noexcept {
        auto& self = static_cast<bell&>(s);
        EXPECT_TRUE(has(what, ready::read));
        ++self.count;
        if (self.action) self.action();  // may destroy the bell
    }
    int fd;
    int count = 0;
    unique_function<void()> action;
};

TEST(event_loop, delivers_readiness_until_unwatched) {
    auto loop = make_loop();
    bell b(*loop);
    loop->run_once(0ms);
    loop->run_once(0ms);
    EXPECT_EQ(b.count, 2);  // level-triggered: nobody read it
    loop->rewatch(b, ready::none);
    loop->run_once(0ms);
    EXPECT_EQ(b.count, 2);
    loop->rewatch(b, ready::read);
    loop->run_once(0ms);
    EXPECT_EQ(b.count, 3);
    loop->unwatch(b);
    EXPECT_FALSE(b.watched());
    EXPECT_EQ(loop->run_once(0ms), 0U);
    EXPECT_EQ(b.count, 3);
}
TEST(event_loop, takes_all_events_of_an_iteration_before_the_hooks) {
    auto loop = make_loop();
    std::vector<std::unique_ptr<bell>> bells;
    int rung = 0;
    struct hook : iteration_hook {
        hook() : iteration_hook(&hook::call) {}
        static void call(iteration_hook& h) noexcept {
            static_cast<hook&>(h).seen.push_back(*static_cast<hook&>(h).rung);
        }
        std::vector<int> seen;
        const int* rung = nullptr;
    } at_end;
    at_end.rung = &rung;
    for (int i = 0; i < 100; ++i) {
        bells.push_back(std::make_unique<bell>(*loop));
        bell* b = bells.back().get();
        b->action = [&, b] {
            ++rung;
            loop->unwatch(*b);
            loop->at_iteration_end(at_end);
        };
    }
    loop->run_once(0ms);
    EXPECT_EQ(rung, 100);
    EXPECT_EQ(at_end.seen, std::vector<int>{100});
}
TEST(event_loop, an_iteration_is_bounded_and_those_left_over_come_next) {
    loop_options options;
    options.events_per_wait = 16;
    auto loop = make_loop(options);
    std::vector<std::unique_ptr<bell>> bells;
    for (int i = 0; i < 40; ++i) bells.push_back(std::make_unique<bell>(*loop));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(loop->run_once(0ms), 16U);
    // Though all stay readable, none is served twice before all were once.
    for (const auto& b : bells) EXPECT_GE(b->count, 1);
}
TEST(event_loop, a_source_may_be_destroyed_while_its_event_waits) {
    auto loop = make_loop();
    std::vector<std::unique_ptr<bell>> bells(50);
    int rung = 0;
    for (std::size_t i = 0; i < bells.size(); ++i) {
        bells[i] = std::make_unique<bell>(*loop);
        bells[i]->action = [&, i] {
            ++rung;
            // The callable lies in the bell that it destroys: first move it out of danger.
            auto doomed = std::move(bells);
            bells.resize(doomed.size());
            bells[i] = std::move(doomed[i]);
            bells[i]->action = [] {};
        };
    }
    loop->run_once(0ms);
    EXPECT_EQ(rung, 1);
}
TEST(event_loop, a_source_may_destroy_itself) {
    auto loop = make_loop();
    auto b = std::make_unique<bell>(*loop);
    b->action = [&b] {
        auto* const mine = &b;
        mine->reset();
    };
    loop->run_once(0ms);
    EXPECT_EQ(b, nullptr);
}
TEST(event_loop, watching_a_bad_descriptor_is_an_error) {
    auto loop = make_loop();
    io_source s([](io_source&, ready) noexcept {});
    EXPECT_EQ(loop->watch(s, 1 << 20, ready::read).code(), errc::system_error);
    EXPECT_FALSE(s.watched());
    // One that cannot be waited for, and would be ready at all times.
    for (const char* const name : {"/proc/self/exe", "/proc"}) {
        const unique_fd file(::open(name, O_RDONLY | O_CLOEXEC));
        ASSERT_TRUE(file);
        EXPECT_EQ(loop->watch(s, file.get(), ready::read).code(), errc::system_error) << name;
        EXPECT_FALSE(s.watched());
    }
}

struct alarm_clock {
    explicit alarm_clock(std::vector<int>& log, int name) : log(&log), name(name) {}
    void ring() {
        log->push_back(name);
        if (then) then();
    }
    std::vector<int>* log;
    int name;
    unique_function<void()> then;
    timer t = timer::calling<&alarm_clock::ring>(this);
};

// Runs until `n` timers have rung.
void run_until(event_loop& loop, const std::vector<int>& log, std::size_t n) {
    while (log.size() < n) loop.run_once(1s);
}

TEST(timers, ring_in_the_order_of_their_deadlines_and_not_early) {
    auto loop = make_loop();
    std::vector<int> log;
    alarm_clock a(log, 1);
    alarm_clock b(log, 2);
    alarm_clock c(log, 3);
    const time_point start = clock::now();
    loop->arm(a.t, start + 6ms);
    loop->arm(b.t, start + 2ms);
    loop->arm(c.t, start + 4ms);
    run_until(*loop, log, 3);
    EXPECT_EQ(log, (std::vector<int>{2, 3, 1}));
    EXPECT_GE(clock::now(), start + 6ms);
    EXPECT_FALSE(a.t.armed());
}
TEST(timers, can_be_pushed_on_pulled_in_and_disarmed) {
    auto loop = make_loop();
    std::vector<int> log;
    alarm_clock a(log, 1);
    alarm_clock b(log, 2);
    alarm_clock c(log, 3);
    const time_point start = clock::now();
    loop->arm(a.t, start + 1ms);
    loop->arm(a.t, start + 5ms);
    loop->arm(b.t, start + 1h);
    loop->arm(b.t, start + 3ms);
    loop->arm(c.t, start + 1ms);
    loop->disarm(c.t);
    run_until(*loop, log, 2);
    EXPECT_EQ(log, (std::vector<int>{2, 1}));
    loop->arm(c.t, clock::now());
    run_until(*loop, log, 3);
    EXPECT_EQ(log.back(), 3);
}
TEST(timers, pushed_on_ring_in_order_when_the_loop_is_late) {
    auto loop = make_loop();
    std::vector<int> log;
    alarm_clock a(log, 1);
    alarm_clock b(log, 2);
    const time_point start = clock::now();
    loop->arm(a.t, start + 1ms);
    loop->arm(a.t, start + 5ms);
    loop->arm(b.t, start + 3ms);
    std::this_thread::sleep_until(start + 6ms);
    run_until(*loop, log, 2);
    EXPECT_EQ(log, (std::vector<int>{2, 1}));
}
TEST(timers, one_that_rings_may_arm_itself_again_or_destroy_others) {
    auto loop = make_loop();
    std::vector<int> log;
    alarm_clock a(log, 1);
    auto b = std::make_unique<alarm_clock>(log, 2);
    a.then = [&] {
        b.reset();
        loop->arm(a.t, loop->now());  // at once, yet not in this iteration
    };
    loop->arm(a.t, loop->now());
    loop->arm(b->t, loop->now());
    loop->run_once(0ms);
    EXPECT_EQ(log, std::vector<int>{1});
    loop->run_once(0ms);
    EXPECT_EQ(log, (std::vector<int>{1, 1}));
}
// However long the callbacks take, and whoever has the clock read meanwhile: other events must have
// their turn.
TEST(timers, two_that_arm_themselves_again_do_not_keep_the_iteration_going) {
    auto loop = make_loop();
    std::vector<int> log;
    alarm_clock a(log, 1);
    alarm_clock b(log, 2);
    for (alarm_clock* const one : {&a, &b}) {
        one->then = [&, one] {
            if (log.size() > 100) return;
            loop->refresh_now();
            loop->arm_after(one->t, 0ms);
        };
        loop->arm(one->t, loop->now());
    }
    loop->run_once(0ms);
    EXPECT_EQ(log, (std::vector<int>{1, 2}));
    loop->run_once(0ms);
    EXPECT_EQ(log, (std::vector<int>{1, 2, 1, 2}));
}
TEST(timers, what_lies_before_the_clock_began_is_past) {
    auto loop = make_loop();
    std::vector<int> log;
    alarm_clock a(log, 1);
    loop->arm(a.t, time_point::min());
    EXPECT_EQ(loop->next_timeout(), clock::duration::zero());
    EXPECT_EQ(loop->run_once(1ms), 1U);
    EXPECT_EQ(log.size(), 1U);
}
TEST(timers, twenty_thousand_renewed_and_destroyed_at_random) {
    auto loop = make_loop();
    std::vector<int> log;
    std::vector<std::unique_ptr<alarm_clock>> all;
    const time_point start = loop->now();
    unsigned random = 1;
    const auto next = [&random] { return (random = random * 1664525 + 1013904223) >> 8; };
    for (int i = 0; i < 20000; ++i) {
        all.push_back(std::make_unique<alarm_clock>(log, i));
        loop->arm(all.back()->t, start + std::chrono::microseconds(next() % 20000));
    }
    std::size_t expected = all.size();
    for (int i = 0; i < 60000; ++i) {
        auto& one = all[next() % all.size()];
        if (one == nullptr) continue;
        if (next() % 10 == 0) {
            one.reset();
            --expected;
        } else {
            loop->arm(one->t, start + std::chrono::microseconds(next() % 20000));
        }
    }
    std::vector<std::pair<time_point, int>> order;
    for (const auto& one : all) {
        if (one != nullptr) order.emplace_back(one->t.deadline(), one->name);
    }
    run_until(*loop, log, expected);
    EXPECT_EQ(log.size(), expected);
    std::sort(order.begin(), order.end());
    std::vector<int> rung = log;
    std::vector<int> names;
    for (const auto& [at, name] : order) names.push_back(name);
    std::sort(rung.begin(), rung.end());
    std::sort(names.begin(), names.end());
    EXPECT_EQ(rung, names);
}
TEST(timers, the_longest_delays_are_for_ever) {
    auto loop = make_loop();
    std::vector<int> log;
    alarm_clock a(log, 1);
    alarm_clock b(log, 2);
    loop->arm_after(a.t, event_loop::forever);
    loop->arm_after(b.t, std::chrono::milliseconds::max());
    loop->run_once(0ms);
    loop->run_once(1ms);
    EXPECT_TRUE(log.empty());
    EXPECT_GT(a.t.deadline(), loop->now() + 24h * 365);
    EXPECT_GT(b.t.deadline(), loop->now() + 24h * 365);
}
TEST(event_loop, the_longest_waits_last_until_something_happens) {
    auto loop = make_loop();
    std::vector<int> log;
    alarm_clock a(log, 1);
    const auto rings_within = [&](auto longest) {
        log.clear();
        loop->refresh_now();
        loop->arm_after(a.t, 5ms);
        loop->run_once(longest);
        return log == std::vector<int>{1};
    };
    EXPECT_TRUE(rings_within(event_loop::forever));
    EXPECT_TRUE(rings_within(std::chrono::microseconds::max()));
    EXPECT_TRUE(rings_within(std::chrono::milliseconds::max()));
    EXPECT_TRUE(rings_within(std::chrono::hours::max()));
    loop->arm_after(a.t, 1h);
    EXPECT_EQ(loop->run_once(std::chrono::milliseconds::min()), 0U);
}
TEST(timers, disarmed_may_be_armed_by_another_loop) {
    auto one = make_loop();
    auto other = make_loop();
    std::vector<int> log;
    alarm_clock stays(log, 1);
    alarm_clock moves(log, 2);
    one->arm_after(stays.t, 1h);
    one->arm_after(moves.t, 1ms);
    one->disarm(moves.t);
    other->arm_after(moves.t, 1ms);
    run_until(*other, log, 1);
    one->run_once(5ms);
    EXPECT_EQ(log, (std::vector<int>{2}));
    EXPECT_TRUE(stays.t.armed());
    one->arm_after(moves.t, 1ms);
    run_until(*one, log, 2);
    EXPECT_EQ(log, (std::vector<int>{2, 2}));
}
TEST(timers, outlive_their_loop_unharmed) {
    std::vector<int> log;
    alarm_clock a(log, 1);
    {
        auto loop = make_loop();
        loop->arm_after(a.t, 1h);
    }
    EXPECT_FALSE(a.t.armed());
}

TEST(post, runs_on_the_loop_in_order) {
    auto loop = make_loop();
    std::vector<int> seen;
    std::thread other([&] {
        for (int i = 0; i < 1000; ++i) {
            loop->post([&seen, i, owned = std::make_unique<int>(i)] {
                seen.push_back(*owned == i ? i : -1);
            });
        }
        loop->post([&] { loop->stop(); });
    });
    loop->run();
    other.join();
    ASSERT_EQ(seen.size(), 1000U);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(post, a_burst_leaves_no_memory_behind) {
    const auto used = [] {
        const auto now = ::mallinfo2();
        return now.uordblks + now.hblkhd;
    };
    auto loop = make_loop();
    const std::size_t before = used();
    std::size_t ran = 0;
    for (int burst = 0; burst < 2; ++burst) {  // of each of two queues
        for (int i = 0; i < 100'000; ++i) loop->post([&ran] { ++ran; });
        EXPECT_GT(used(), before + 5'000'000);
        loop->run_once(0ms);
    }
    EXPECT_EQ(ran, 200'000U);
    EXPECT_LT(used(), before + 1'000'000);
}
#endif
TEST(post, from_many_threads_and_from_within) {
    auto loop = make_loop();
    int count = 0;
    std::vector<std::thread> others;
    for (int t = 0; t < 4; ++t) {
        others.emplace_back([&] {
            for (int i = 0; i < 500; ++i) {
                loop->post([&] {
                    loop->post([&] {
                        if (++count == 2000) loop->stop();
                    });
                });
            }
        });
    }
    loop->run();
    for (auto& t : others) t.join();
    EXPECT_EQ(count, 2000);
}
TEST(post, what_never_ran_is_destroyed_with_the_loop) {
    const auto alive = std::make_shared<int>();
    {
        auto loop = make_loop();
        loop->post([alive] { FAIL() << "ran"; });
    }
    EXPECT_EQ(alive.use_count(), 1);
}
// From the destructor of something that it owns.
TEST(post, what_is_dropped_with_the_loop_may_post) {
    const auto alive = std::make_shared<int>();
    struct last_word {
        last_word(event_loop& l, std::shared_ptr<int> a) : loop(&l), alive(std::move(a)) {}
        ~last_word() {
            loop->post([held = std::move(alive)] { FAIL() << "ran"; });
        }
        event_loop* loop;
        std::shared_ptr<int> alive;
    };
    {
        auto loop = make_loop();
        for (int i = 0; i < 3; ++i)
            loop->post([word = std::make_unique<last_word>(*loop, alive)] { FAIL() << "ran"; });
    }
    EXPECT_EQ(alive.use_count(), 1);
}
TEST(stop, before_run_is_remembered_once) {
    auto loop = make_loop();
    loop->stop();
    loop->run();
    loop->post([&] { loop->stop(); });
    loop->run();
}

}  // namespace wire::event_loop_test
