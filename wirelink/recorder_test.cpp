// What a record keeps of packets, whole, cut short and of other protocols.
#include "recorder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace wirelink::recorder_test {

using namespace std::chrono_literals;

// IPv4 and TCP without options, from port 0x1234 to 0x0050, flags SYN and ACK, 3 bytes of payload.
std::vector<std::byte> packet() {
    constexpr std::array<int, 43> octets{
        0x45, 0,    0,  43,   0, 0, 0, 0, 64, 6, 0, 0, 198,  18,   0, 2, 198, 18, 0, 1,  // IPv4
        0x12, 0x34, 0,  0x50, 0, 0, 1, 0, 0,  0, 2, 1, 0x50, 0x12, 0, 0, 0,   0,  0, 0,  // TCP
        'a',  'b',  'c'};
    std::vector<std::byte> bytes;
    for (int octet : octets) bytes.push_back(static_cast<std::byte>(octet));
    return bytes;
}

std::string written(const recorder& record) {
    std::FILE* file = std::tmpfile();
    EXPECT_TRUE(record.write(file));
    std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
    std::rewind(file);
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
    std::fclose(file);
    return text;
}

TEST(recorder, keeps_times_direction_flags_numbers_and_length) {
    recorder record(10);
    record.note(direction::upstream, 5us, 27ms, packet());
    record.note(direction::downstream, 6us, std::nullopt, packet());
    EXPECT_EQ(written(record),
              "wirelink-packets/1 all\n"
              "5000 27000000 up 4660 SA 256 513 3\n"
              "6000 - down 80 SA 256 513 3\n");
}

TEST(recorder, keeps_the_first_packets_and_says_that_there_were_more) {
    recorder record(1);
    record.note(direction::upstream, 1ns, 2ns, packet());
    EXPECT_EQ(written(record).substr(0, 23), "wirelink-packets/1 all\n");
    record.note(direction::upstream, 3ns, 4ns, packet());
    EXPECT_EQ(written(record), "wirelink-packets/1 first\n1 2 up 4660 SA 256 513 3\n");
}

TEST(recorder, says_when_the_disk_is_full) {
    constexpr std::size_t more_than_a_buffer = 5'000;
    recorder record(more_than_a_buffer);
    for (std::size_t i = 0; i < more_than_a_buffer; ++i)
        record.note(direction::upstream, 1ns, 2ns, packet());
    std::FILE* full = std::fopen("/dev/full", "w");
    ASSERT_NE(full, nullptr);
    EXPECT_FALSE(record.write(full));
    std::fclose(full);
}

TEST(recorder, leaves_out_what_is_cut_short_or_is_not_tcp) {
    const auto whole = packet();
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(parse_tcp(std::span(whole).first(size))) << size;
    const auto with = [&](std::size_t at, int value) {
        auto changed = packet();
        changed[at] = static_cast<std::byte>(value);
        return parse_tcp(changed).has_value();
    };
    EXPECT_FALSE(with(0, 0x65)) << "IPv6 without its header";
    EXPECT_FALSE(with(0, 0x55)) << "no version of IP";
    EXPECT_FALSE(with(0, 0x44)) << "an IPv4 header of 16 bytes";
    EXPECT_FALSE(with(0, 0x4f)) << "an IPv4 header longer than the packet";
    EXPECT_FALSE(with(3, 39)) << "a length without a whole TCP header";
    EXPECT_FALSE(with(7, 1)) << "a later fragment, which has no header";
    EXPECT_FALSE(with(9, 17)) << "UDP";
    EXPECT_FALSE(with(32, 0x40)) << "a TCP header of 16 bytes";
    EXPECT_FALSE(with(32, 0xf0)) << "a TCP header longer than the packet";
    EXPECT_TRUE(with(40, 0));
}

// The same segment behind the fixed header of IPv6.
std::vector<std::byte> packet_of_ipv6() {
    const auto of_ipv4 = packet();
    const auto segment = std::span(of_ipv4).subspan(20);
    std::vector<std::byte> bytes(40);
    bytes[0] = std::byte{0x60};
    bytes[5] = static_cast<std::byte>(segment.size());
    bytes[6] = std::byte{6};
    bytes.insert(bytes.end(), segment.begin(), segment.end());
    return bytes;
}

TEST(recorder, keeps_tcp_over_ipv6_as_well) {
    const auto whole = packet_of_ipv6();
    recorder record(10);
    record.note(direction::upstream, 5us, 27ms, whole);
    EXPECT_EQ(written(record), "wirelink-packets/1 all\n5000 27000000 up 4660 SA 256 513 3\n");
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(parse_tcp(std::span(whole).first(size))) << size;
    const auto with = [&](std::size_t at, int value) {
        auto changed = whole;
        changed[at] = static_cast<std::byte>(value);
        return parse_tcp(changed).has_value();
    };
    EXPECT_FALSE(with(5, 19)) << "a length without a whole TCP header";
    EXPECT_FALSE(with(6, 17)) << "UDP";
    EXPECT_FALSE(with(6, 0)) << "an extension header";
}

}  // namespace wirelink::recorder_test
