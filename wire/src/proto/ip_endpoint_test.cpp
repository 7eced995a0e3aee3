#include "wire/proto/ip_endpoint.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace wire::ip_endpoint_test {

TEST(ip_endpoint, literals_are_those_of_inet_pton) {
    for (const char* text : {"0.0.0.0",
                             "127.0.0.1",
                             "255.255.255.255",
                             "256.0.0.1",
                             "1.2.3",
                             "1.2.3.4.5",
                             "1.2.3.4 ",
                             "01.2.3.4",
                             "1..2.3",
                             "",
                             ".",
                             "1.2.3.x",
                             "1.2.3.1000",
                             "-1.2.3.4",
                             "::",
                             "::1",
                             "1::",
                             "1:2:3:4:5:6:7:8",
                             "1:2:3:4:5:6:7",
                             "1:2:3:4:5:6:7:8:9",
                             "::2:3:4:5:6:7:8",
                             "1:2:3:4:5:6:7::",
                             "::1:2:3:4:5:6:7:8",
                             "1:2:3:4:5:6:7:8::",
                             "1::2::3",
                             ":::",
                             ":1",
                             "1:",
                             "12345::",
                             "g::",
                             "::ffff:1.2.3.4",
                             "1:2:3:4:5:6:1.2.3.4",
                             "1:2:3:4:5:6:7:1.2.3.4",
                             "::1.2.3",
                             "1.2.3.4::",
                             "1.2.3.4:1::",
                             "fe80::1%eth0",
                             "[::1]",
                             "2001:DB8::a",
                             "::1:",
                             "1:::2",
                             "::1.2.3.4:5"}) {
        in_addr four{};
        in6_addr six{};
        const bool is_four = ::inet_pton(AF_INET, text, &four) == 1;
        const bool is_six = ::inet_pton(AF_INET6, text, &six) == 1;
        const auto v4 = parse_ipv4(text);
        const auto v6 = parse_ipv6(text);
        ASSERT_EQ(v4.has_value(), is_four) << text;
        ASSERT_EQ(v6.has_value(), is_six) << text;
        if (is_four) {
            EXPECT_FALSE(v4->v6);
            EXPECT_EQ(std::memcmp(v4->bytes.data(), &four, 4), 0) << text;
        }
        if (is_six) {
            EXPECT_TRUE(v6->v6);
            EXPECT_EQ(std::memcmp(v6->bytes.data(), &six, 16), 0) << text;
        }
    }
}
TEST(ip_endpoint, ports) {
    EXPECT_EQ(parse_port("0"), 0);
    EXPECT_EQ(parse_port("65535"), 65535);
    for (const char* text : {"", "65536", "123456", "1x", "+1", " 1"})
        EXPECT_FALSE(parse_port(text)) << text;
}

}  // namespace wire::ip_endpoint_test
