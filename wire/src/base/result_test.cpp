#include "wire/base/result.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <set>

namespace wire::result_test {

TEST(result, holds_a_value_or_an_error) {
    result<std::unique_ptr<int>> good = std::make_unique<int>(3);
    ASSERT_TRUE(good);
    EXPECT_EQ(**good, 3);
    EXPECT_EQ(good.code(), errc::none);
    const std::unique_ptr<int> taken = *std::move(good);
    EXPECT_EQ(*taken, 3);

    const result<int> bad = errc::refused;
    EXPECT_FALSE(bad);
    EXPECT_EQ(bad.code(), errc::refused);
    EXPECT_EQ(bad.error().message, "connection refused");
}
TEST(result, without_a_value) {
    EXPECT_TRUE(result<void>().ok());
    const result<void> bad = error(errc::bad_argument, "port: expected 1 to 65535, got 0");
    EXPECT_EQ(bad.code(), errc::bad_argument);
    EXPECT_EQ(bad.error().message, "port: expected 1 to 65535, got 0");
}
TEST(errc, every_one_has_its_own_text) {
    std::set<std::string_view> texts;
    for (int i = 0; i <= static_cast<int>(errc::expands_too_much); ++i) {
        const auto text = to_string(static_cast<errc>(i));
        EXPECT_NE(text, "unknown error") << i;
        EXPECT_TRUE(texts.insert(text).second) << text;
    }
}
TEST(system_failure, says_what_and_why) {
    const error e = system_failure(EADDRINUSE, "cannot listen on 127.0.0.1:80");
    EXPECT_EQ(e.code, errc::address_in_use);
    EXPECT_EQ(e.message, "cannot listen on 127.0.0.1:80: Address already in use");
    EXPECT_EQ(from_errno(ECONNREFUSED), errc::refused);
    EXPECT_EQ(from_errno(EPIPE), errc::reset);
    EXPECT_EQ(from_errno(EBADF), errc::system_error);
    EXPECT_EQ(from_errno(0), errc::none);
}

}  // namespace wire::result_test
