#include "wire/base/buffer.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <new>
#include <string>
#include <vector>

namespace wire::buffer_test {

TEST(buffer, an_empty_one_owns_nothing) {
    buffer b;
    EXPECT_TRUE(b.empty());
    EXPECT_EQ(b.capacity(), 0U);
    EXPECT_EQ(b.view(), "");
    EXPECT_LE(sizeof(buffer), 24U);
}
TEST(buffer, behaves_like_a_queue_of_bytes) {
    buffer b;
    std::string model;
    unsigned random = 7;
    for (int i = 0; i < 2000; ++i) {
        random = random * 1664525 + 1013904223;
        const std::size_t n = random >> 24;
        if ((random & 1024) != 0) {
            const std::string text(n, static_cast<char>('a' + i % 26));
            b.append(text);
            model += text;
        } else {
            const std::size_t take = std::min(n, b.size());
            b.consume(take);
            model.erase(0, take);
        }
        ASSERT_EQ(b.view(), model);
    }
}
TEST(buffer, prepared_bytes_count_when_committed) {
    buffer b;
    b.append("ab");
    auto space = b.prepare(3);
    ASSERT_GE(space.size(), 3U);
    space[0] = 'c';
    EXPECT_EQ(b.view(), "ab");
    b.commit(1);
    EXPECT_EQ(b.view(), "abc");
    b.truncate(1);
    EXPECT_EQ(b.view(), "a");
    b.append('z');
    EXPECT_EQ(b.view(), "az");
}
TEST(buffer, numbers) {
    buffer b;
    b.append_number(0);
    b.append(' ');
    b.append_number(std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(b.view(), "0 18446744073709551615");
}
TEST(buffer, moves) {
    buffer a;
    a.append("x");
    buffer b = std::move(a);
    EXPECT_EQ(b.view(), "x");
    buffer c;
    c.append("y");
    c = std::move(b);
    EXPECT_EQ(c.view(), "x");
    EXPECT_EQ(b.capacity(), 0U);
}
TEST(buffer, reuses_freed_room_at_the_front) {
    buffer b;
    b.append(std::string(256, 'a'));
    const std::size_t capacity = b.capacity();
    b.consume(200);
    b.append(std::string(150, 'b'));
    EXPECT_EQ(b.capacity(), capacity);
    EXPECT_EQ(b.view(), std::string(56, 'a') + std::string(150, 'b'));
}
TEST(buffer, refuses_more_than_there_can_be) {
    constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
    for (const std::size_t many : {all, all - 15, all - 300, all / 2 + 1}) {
        buffer b;
        EXPECT_THROW(b.prepare(many), std::bad_alloc);
        b.append("ab");
        EXPECT_THROW(b.prepare(many), std::bad_alloc);
        EXPECT_EQ(b.view(), "ab");
    }
}
// Storage that is not touched costs no memory.
TEST(buffer, holds_more_than_four_gibibytes) {
    constexpr std::size_t many = (std::size_t{5} << 30) + 7;
    buffer b;
    b.append("ab");
    std::span<char> space;
    try {
        space = b.prepare(many);
    } catch (const std::bad_alloc&) {
        GTEST_SKIP() << "the system promises no such storage";
    }
    ASSERT_GE(space.size(), many);
    space[many - 1] = 'z';
    b.commit(many);
    EXPECT_EQ(b.size(), many + 2);
    EXPECT_EQ(b.view().substr(0, 2), "ab");
    EXPECT_EQ(b.view().back(), 'z');
    b.consume(many);
    EXPECT_EQ(b.size(), 2U);
    EXPECT_EQ(b.view()[1], 'z');
    b.truncate(0);
    EXPECT_TRUE(b.empty());
}
TEST(buffer_pool, lends_the_block_returned_last) {
    buffer_pool pool(1024, 2);
    buffer a;
    pool.lend(a);
    EXPECT_EQ(a.capacity(), 1024U);
    a.append("x");
    const char* const block = a.data();
    pool.reclaim(a);
    EXPECT_EQ(a.capacity(), 0U);
    EXPECT_EQ(pool.kept(), 1U);
    buffer b;
    pool.lend(b);
    pool.lend(b);  // has one already
    EXPECT_EQ(pool.kept(), 0U);
    EXPECT_EQ(b.data(), block);
    EXPECT_TRUE(b.empty());
}
TEST(buffer_pool, keeps_what_grew_so_that_it_need_not_grow_again) {
    buffer_pool pool(512, 64);
    buffer grown;
    pool.lend(grown);
    grown.append(std::string(1500, 'x'));
    const char* const block = grown.data();
    const std::size_t room = grown.capacity();
    EXPECT_GE(room, 1500U);
    pool.reclaim(grown);
    EXPECT_EQ(pool.kept(), 1U);
    EXPECT_EQ(grown.capacity(), 0U);
    buffer next;
    pool.lend(next);
    EXPECT_EQ(next.data(), block);
    EXPECT_EQ(next.capacity(), room);
    EXPECT_TRUE(next.empty());
}
TEST(buffer_pool, keeps_only_so_many_bytes_and_no_large_part_of_them_in_one_block) {
    buffer_pool pool(512, 64);  // 32 KiB, and 2 KiB in one block
    buffer large;
    pool.lend(large);
    large.append(std::string(2049, 'x'));
    pool.reclaim(large);
    EXPECT_EQ(pool.kept(), 0U);
    EXPECT_EQ(large.capacity(), 0U);

    std::vector<buffer> many(70);
    for (buffer& b : many) pool.lend(b);
    for (buffer& b : many) pool.reclaim(b);
    EXPECT_EQ(pool.kept(), 64U);
    for (buffer& b : many) pool.lend(b);  // room for them again
    EXPECT_EQ(pool.kept(), 0U);
    for (buffer& b : many) b.append(std::string(600, 'x'));  // 1 KiB each
    for (buffer& b : many) pool.reclaim(b);
    EXPECT_EQ(pool.kept(), 32U);
}
TEST(buffer_pool, frees_storage_of_less_than_a_loan) {
    buffer_pool pool(512, 2);
    buffer b;
    b.append("x");  // 256 bytes of the heap
    pool.reclaim(b);
    EXPECT_EQ(pool.kept(), 0U);
    EXPECT_EQ(b.capacity(), 0U);
}

}  // namespace wire::buffer_test
