// The words given to `tc`. Whether wirelink chooses netem is tested by the lab, with a `tc` of its
// own.
#include "netem.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace wirelink::netem_test {

using namespace std::chrono_literals;

std::string line(const path_options& options) {
    return fmt::format("{}", fmt::join(netem_command("wan0", options), " "));
}

TEST(netem, delays) {
    EXPECT_EQ(line({.delay = 27ms}),
              "tc qdisc add dev wan0 root handle 1: netem limit 65536 delay 27000us");
}

TEST(netem, jitter_keeps_the_order) {
    EXPECT_EQ(line({.delay = 27ms, .jitter = 2500us}),
              "tc qdisc add dev wan0 root handle 1: netem limit 65536 delay 27000us 2500us "
              "rate 32000000000bit");
}

TEST(netem, a_bottleneck_keeps_the_order_by_itself) {
    EXPECT_EQ(line({.delay = 27ms, .jitter = 2500us, .rate_bits_per_second = 12'000'000}),
              "tc qdisc add dev wan0 root handle 1: netem limit 1027 delay 27000us 2500us "
              "rate 12000000bit");
}

TEST(netem, takes_what_is_asked_to_reorder_out_of_the_delay) {
    EXPECT_EQ(line({.delay = 1ms, .jitter = 1ms, .reorder = 0.25}),
              "tc qdisc add dev wan0 root handle 1: netem limit 65536 delay 1000us 1000us "
              "reorder 25%");
}

TEST(netem, queues_what_waits_for_the_bottleneck_beside_what_is_under_way) {
    EXPECT_EQ(line({.delay = 27ms, .rate_bits_per_second = 12'000'000, .loss = 0.01}),
              "tc qdisc add dev wan0 root handle 1: netem limit 1027 delay 27000us loss 1% "
              "rate 12000000bit");
}

TEST(netem, reads_the_counters_of_netem_and_not_of_its_child) {
    const auto found = parse_netem_counters(
        R"([{"kind":"pfifo","bytes":1,"packets":2,"drops":3},{"kind":"netem","handle":"1:",)"
        R"("options":{"limit":1000},"bytes":1500,"packets":7,"drops":4,"overlimits":0}])");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->forwarded, 7U);
    EXPECT_EQ(found->bytes, 1500U);
    EXPECT_EQ(found->dropped, 4U);
    EXPECT_FALSE(parse_netem_counters("Error: no such device"));
}

}  // namespace wirelink::netem_test
