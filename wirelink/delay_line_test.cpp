// When packets leave an emulated path, exactly, by a clock that the test moves.
#include "delay_line.hpp"

#include <gtest/gtest.h>

#include <string>

namespace wirelink::delay_line_test {

using namespace std::chrono_literals;

std::vector<std::byte> bytes(std::size_t size, int value = 0) {
    return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

std::string drain(delay_line& line, nanoseconds now) {
    std::string seen;
    line.pop_due(now, [&](std::span<const std::byte> packet, nanoseconds) {
        seen += static_cast<char>(std::to_integer<int>(packet[0]));
    });
    return seen;
}

TEST(delay_line, delivers_after_exactly_the_delay) {
    delay_line line({.delay = 27ms});
    ASSERT_TRUE(line.push(1s, bytes(1, 'a')));
    EXPECT_EQ(line.next_due(), std::optional<nanoseconds>(1s + 27ms));
    EXPECT_EQ(drain(line, 1s + 27ms - 1ns), "");
    EXPECT_EQ(drain(line, 1s + 27ms), "a");
    EXPECT_EQ(line.next_due(), std::nullopt);
}

TEST(delay_line, a_rate_limit_spaces_packets_by_their_serialisation_time) {
    // 1,000 bytes at 8 Mbit/s take 1 ms each.
    delay_line line({.delay = 10ms, .rate_bits_per_second = 8'000'000});
    for (char name : {'a', 'b', 'c'}) ASSERT_TRUE(line.push(0s, bytes(1000, name)));
    EXPECT_EQ(drain(line, 11ms), "a");
    EXPECT_EQ(drain(line, 12ms - 1ns), "");
    EXPECT_EQ(drain(line, 12ms), "b");
    EXPECT_EQ(drain(line, 13ms), "c");
}

TEST(delay_line, an_idle_link_does_not_save_up_credit) {
    delay_line line({.rate_bits_per_second = 8'000'000});
    ASSERT_TRUE(line.push(0s, bytes(1000, 'a')));
    ASSERT_TRUE(line.push(1s, bytes(1000, 'b')));
    EXPECT_EQ(drain(line, 1s), "a");
    EXPECT_EQ(drain(line, 1s + 1ms), "b");
}

TEST(delay_line, the_queue_drops_its_tail_and_takes_again_when_drained) {
    delay_line line({.delay = 100ms, .rate_bits_per_second = 8'000'000, .queue_packets = 2});
    EXPECT_TRUE(line.push(0s, bytes(1000, 'a')));
    EXPECT_TRUE(line.push(0s, bytes(1000, 'b')));
    EXPECT_FALSE(line.push(0s, bytes(1000, 'c')));
    EXPECT_EQ(line.counters().overflowed, 1u);
    // `a` has left the bottleneck at 1 ms though it is still on its way.
    EXPECT_TRUE(line.push(1ms, bytes(1000, 'd')));
    EXPECT_EQ(drain(line, 1s), "abd");
}

TEST(delay_line, loss_is_counted_and_close_to_its_probability) {
    delay_line line({.loss = 0.1, .seed = 7});
    int taken = 0;
    for (int i = 0; i < 10'000; ++i) taken += line.push(0s, bytes(1)) ? 1 : 0;
    EXPECT_EQ(line.counters().lost, 10'000u - static_cast<unsigned>(taken));
    EXPECT_NEAR(static_cast<double>(line.counters().lost), 1'000, 100);
}

TEST(delay_line, the_same_seed_loses_the_same_packets) {
    const path_options options{.loss = 0.3, .seed = 42};
    delay_line first(options);
    delay_line second(options);
    for (int i = 0; i < 1'000; ++i) EXPECT_EQ(first.push(0s, bytes(1)), second.push(0s, bytes(1)));
}

// Which of 200 packets, sent at intervals of `gap` but for the first ten at once, were lost.
std::string losses(delay_line& line, nanoseconds gap) {
    std::string seen;
    for (int i = 0; i < 200; ++i) {
        const auto before = line.counters().lost;
        line.push(gap * std::max(0, i - 9), bytes(1000));
        seen += line.counters().lost > before ? 'x' : '.';
    }
    return seen;
}

TEST(delay_line, what_a_seed_does_to_a_packet_does_not_depend_on_when_others_came) {
    const path_options options{.delay = 20ms,
                               .jitter = 5ms,
                               .rate_bits_per_second = 8'000'000,
                               .loss = 0.2,
                               .reorder = 0.1,
                               .queue_packets = 2,
                               .seed = 11};
    delay_line narrow(options);
    path_options free = options;
    free.queue_packets = 1'000;
    delay_line wide(free);
    EXPECT_EQ(losses(narrow, 2ms), losses(wide, 2ms));
    EXPECT_GT(narrow.counters().overflowed, 0u);
    EXPECT_EQ(wide.counters().overflowed, 0u);
}

// A multicast listener report to ff02::16, or a router solicitation to ff02::2.
std::vector<std::byte> of_the_kernel(int next_header, int group) {
    auto packet = bytes(48);
    packet[0] = std::byte{0x60};
    packet[6] = static_cast<std::byte>(next_header);
    packet[24] = std::byte{0xff};
    packet[25] = std::byte{0x02};
    packet[39] = static_cast<std::byte>(group);
    return packet;
}

TEST(delay_line, what_kernels_send_by_themselves_takes_nothing_from_the_seed_of_the_others) {
    const path_options options{.loss = 0.5, .seed = 42};
    delay_line quiet(options);
    delay_line noisy(options);
    for (int i = 0; i < 1'000; ++i) {
        if (i % 3 == 0) noisy.push(0s, of_the_kernel(0, 0x16));
        if (i % 7 == 0) noisy.push(0s, of_the_kernel(58, 2));
        EXPECT_EQ(quiet.push(0s, bytes(1)), noisy.push(0s, bytes(1))) << i;
    }
    EXPECT_GT(noisy.counters().lost, quiet.counters().lost) << "they may be lost, too";
}

TEST(delay_line, only_what_goes_to_groups_of_the_link_is_taken_for_the_kernels) {
    const auto whole = of_the_kernel(58, 2);
    EXPECT_TRUE(is_of_the_kernel(whole));
    EXPECT_FALSE(is_of_the_kernel(std::span(whole).first(39)));
    const auto with = [&](std::size_t at, int value) {
        auto changed = whole;
        changed[at] = static_cast<std::byte>(value);
        return is_of_the_kernel(changed);
    };
    EXPECT_FALSE(with(0, 0x45)) << "IPv4";
    EXPECT_FALSE(with(6, 17)) << "UDP";
    EXPECT_FALSE(with(24, 0xfe)) << "to one host";
    EXPECT_FALSE(with(25, 0x05)) << "to a group of the site";
}

TEST(delay_line, jitter_stays_in_its_band_and_never_reorders) {
    delay_line line({.delay = 20ms, .jitter = 5ms, .seed = 3});
    for (int i = 0; i < 200; ++i)
        ASSERT_TRUE(line.push(nanoseconds{i * 100'000}, bytes(1, i % 100)));
    int expected = 0;
    nanoseconds now{0};
    while (line.next_due()) {
        now = *line.next_due();
        EXPECT_GE(now, 15ms);
        line.pop_due(now, [&](std::span<const std::byte> packet, nanoseconds) {
            EXPECT_EQ(std::to_integer<int>(packet[0]), expected++ % 100);
        });
    }
    EXPECT_LE(now, 199 * 100us + 25ms);
    EXPECT_EQ(expected, 200);
}

TEST(delay_line, a_reordered_packet_overtakes_those_in_flight) {
    delay_line line({.delay = 20ms, .reorder = 0.5, .seed = 5});
    std::string sent;
    for (char name = 'a'; name <= 'z'; ++name) {
        ASSERT_TRUE(line.push(0s, bytes(1, name)));
        sent += name;
    }
    const std::string first = drain(line, 0s);
    EXPECT_EQ(first.size(), line.counters().reordered);
    EXPECT_GT(first.size(), 0u);
    EXPECT_LT(first.size(), sent.size());
    EXPECT_EQ(first.size() + drain(line, 20ms).size(), sent.size());
}

TEST(delay_line, packets_in_flight_are_bounded) {
    delay_line line({.delay = 1h, .queue_packets = delay_line::max_packets_in_flight * 2});
    std::size_t taken = 0;
    for (std::size_t i = 0; i < delay_line::max_packets_in_flight + 10; ++i)
        taken += line.push(0s, bytes(1)) ? 1 : 0;
    EXPECT_EQ(taken, delay_line::max_packets_in_flight);
    EXPECT_EQ(line.counters().overflowed, 10u);
}

}  // namespace wirelink::delay_line_test
