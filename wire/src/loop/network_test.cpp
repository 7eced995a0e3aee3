#include "wire/loop/network.hpp"

#include <gtest/gtest.h>

#include <string>

namespace wire::network_test {

bool within(const char* net, const char* a) {
    const auto n = network::parse(net);
    EXPECT_TRUE(n) << n.error().message;
    return n->contains(std::string(a) == "unix:" ? address::unix_peer() : *address::parse(a, 80));
}

TEST(network, contains_what_its_prefix_says) {
    EXPECT_TRUE(within("10.0.0.0/8", "10.255.0.1"));
    EXPECT_FALSE(within("10.0.0.0/8", "11.0.0.1"));
    EXPECT_TRUE(within("192.0.2.128/25", "192.0.2.200"));
    EXPECT_FALSE(within("192.0.2.128/25", "192.0.2.100"));
    EXPECT_TRUE(within("127.0.0.1", "127.0.0.1"));
    EXPECT_FALSE(within("127.0.0.1", "127.0.0.2"));
    EXPECT_TRUE(within("0.0.0.0/0", "8.8.8.8"));
    EXPECT_FALSE(within("0.0.0.0/0", "::1"));
    EXPECT_TRUE(within("2001:db8::/33", "2001:db8:7fff::1"));
    EXPECT_FALSE(within("2001:db8::/33", "2001:db8:8000::1"));
    EXPECT_TRUE(within("::/0", "::1"));
    EXPECT_FALSE(within("::/0", "1.2.3.4"));
    EXPECT_TRUE(within("10.0.0.0/8", "::ffff:10.0.0.1"));
    EXPECT_FALSE(within("10.0.0.0/8", "::10.0.0.1"));
    EXPECT_TRUE(within("unix:", "unix:"));
    EXPECT_FALSE(within("unix:", "127.0.0.1"));
    EXPECT_FALSE(within("0.0.0.0/0", "unix:"));
    EXPECT_FALSE(within("::/0", "unix:"));
}
TEST(network, around_an_address) {
    const auto n = network::around("192.168.1.77/16");
    ASSERT_TRUE(n) << n.error().message;
    EXPECT_TRUE(n->contains(*address::parse("192.168.200.1", 80)));
    EXPECT_FALSE(n->contains(*address::parse("192.169.1.77", 80)));
    EXPECT_TRUE(network::around("fd00::1/8")->contains(*address::parse("fdff::2", 80)));
    EXPECT_EQ(network::around("10.0.0.1/33").code(), errc::bad_argument);
}
TEST(network, refuses_what_is_none) {
    for (const char* text :
         {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.1/8", "10.0.0.0/8 ",
          "::1/129", "2001:db8::1/64", "localhost", "unix", "10.0.0.0/8/8", "10.0.0/8",
          "10.0.0.0/+8", "::ffff:10.0.0.0/104", "::ffff:10.0.0.1"}) {
        const auto n = network::parse(text);
        ASSERT_EQ(n.code(), errc::bad_argument) << text;
        EXPECT_NE(n.error().message.find(text), std::string::npos);
    }
}

}  // namespace wire::network_test
