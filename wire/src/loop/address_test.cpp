#include "wire/loop/address.hpp"

#include <gtest/gtest.h>

namespace wire::address_test {

TEST(address, literals) {
    EXPECT_EQ(address::parse("127.0.0.1", 80)->to_string(), "127.0.0.1:80");
    EXPECT_EQ(address::parse("::1", 8080)->to_string(), "[::1]:8080");
    EXPECT_EQ(address::parse("::1", 8080)->port(), 8080);
    EXPECT_EQ(address::loopback_v4(1).to_string(), "127.0.0.1:1");
    EXPECT_EQ(address::any_v4(65535).to_string(), "0.0.0.0:65535");
    EXPECT_EQ(address::parse("localhost", 1).code(), errc::bad_argument);
    EXPECT_EQ(address::parse("", 1).code(), errc::bad_argument);
    const auto six = address::parse("fe80::2", 5);
    EXPECT_EQ(address::from(six->raw()).to_string(), six->to_string());
}
TEST(address, the_other_end_of_a_unix_socket_has_neither_path_nor_port) {
    address a = address::unix_peer();
    EXPECT_EQ(a.family(), AF_UNIX);
    a.set_port(80);
    EXPECT_EQ(a.port(), 0);
    EXPECT_EQ(a.host(), "unix:");
    EXPECT_EQ(a.to_string(), "unix:");
    EXPECT_EQ(a.size(), sizeof(sa_family_t));
    EXPECT_EQ(address::from(a.raw()).to_string(), "unix:");
}
TEST(resolve, literals_need_no_resolver) {
    const auto found = resolve("127.0.0.1", 81);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), 1U);
    EXPECT_EQ((*found)[0].to_string(), "127.0.0.1:81");
}
TEST(resolve, names_that_cannot_exist) {
    const auto found = resolve("no such name", 1);
    EXPECT_EQ(found.code(), errc::not_resolved);
    EXPECT_NE(found.error().message.find("no such name"), std::string::npos);
}

}  // namespace wire::address_test
