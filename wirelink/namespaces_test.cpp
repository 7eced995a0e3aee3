// What is read of /proc/net/dev. The namespaces themselves are tested by the relay on the real
// path.
#include "namespaces.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace wirelink::namespaces_test {

constexpr const char* devices =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier compressed\n"
    "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
    "  wan0:  400741    6577    0    7    0     0          0         0 31077808   20727    0 1349  "
    "  0     0       0          0\n";

TEST(namespaces, reads_what_a_device_dropped_of_what_it_was_to_send) {
    std::istringstream first(devices);
    EXPECT_EQ(parse_drops(first, "wan0"), 1349U);
    std::istringstream second(devices);
    EXPECT_EQ(parse_drops(second, "lo"), 12U);
}

TEST(namespaces, knows_nothing_of_a_device_that_is_not_there) {
    for (const char* text : {devices, "", "  wan1: 1 2 3\n"}) {
        std::istringstream in(text);
        EXPECT_EQ(parse_drops(in, "wan1"), std::nullopt) << text;
    }
}

}  // namespace wirelink::namespaces_test
