#include "engine/source_ports.hpp"

#include <set>

#include <gtest/gtest.h>

namespace wireload::source_ports_test {

constexpr port_range small{40'000, 40'079};  // 80 ports, of which 70 are used

options asking(std::uint32_t connections, bool keep_alive = true) {
    options o;
    o.connections = connections;
    o.keep_alive = keep_alive;
    return o;
}

std::size_t addresses(const options& o, const char* server) {
    const auto chosen =
        choose_sources(o, {{*wire::address::parse(server, 80), o.connections}}, small);
    return std::get<std::vector<wire::address>>(chosen).size();
}

std::string refusal(const options& o, const char* server) {
    const auto chosen =
        choose_sources(o, {{*wire::address::parse(server, 80), o.connections}}, small);
    const auto* text = std::get_if<std::string>(&chosen);
    return text == nullptr ? "accepted" : *text;
}

TEST(SourcePorts, FewConnectionsAreLeftToTheKernel) {
    EXPECT_EQ(addresses(asking(20), "127.0.0.1"), 0U);
    EXPECT_FALSE(should_choose_ports(asking(20), small));
}

TEST(SourcePorts, ManyOnLoopbackSpreadOverAddresses) {
    EXPECT_EQ(addresses(asking(30), "127.0.0.1"), 16U);
    EXPECT_EQ(addresses(asking(141), "127.0.0.1"), 18U);
    EXPECT_TRUE(should_choose_ports(asking(30), small));
    EXPECT_GT(addresses(asking(1, false), "127.0.0.1"), 1U);
    EXPECT_FALSE(should_choose_ports(asking(30, false), small));
}

TEST(SourcePorts, ElsewhereOnlyWhatTheUserNames) {
    EXPECT_EQ(addresses(asking(60), "192.0.2.1"), 0U);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--source", refusal(asking(71), "192.0.2.1"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "ip_local_port_range", refusal(asking(71), "::1"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "Lower -c", refusal(asking(71), "192.0.2.1"));
    options ramp = asking(71);
    ramp.ramp.emplace();
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "Lower --ramp-rounds", refusal(ramp, "192.0.2.1"));
    options two = asking(71);
    two.sources = {"192.0.2.7", "192.0.2.8"};
    EXPECT_EQ(addresses(two, "192.0.2.1"), 2U);
    two.sources = {"here"};
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--source here", refusal(two, "192.0.2.1"));
    two.sources = {"::1"};
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "same family", refusal(two, "192.0.2.1"));
}

// Those of the loopback network reach nobody elsewhere.
TEST(SourcePorts, OfSeveralServersEachIsConnectedFromWhereItCanBe) {
    const auto near = *wire::address::parse("127.0.0.1", 80),
               far = *wire::address::parse("192.0.2.1", 80), six = *wire::address::parse("::1", 80);
    for (const auto& to : {std::vector<destination>{{near, 70}, {far, 70}, {six, 70}},
                           std::vector<destination>{{six, 70}, {far, 70}, {near, 70}}}) {
        const auto chosen = choose_sources(asking(210), to, small);
        ASSERT_EQ(std::get_if<std::string>(&chosen), nullptr) << std::get<std::string>(chosen);
        const auto& sources = std::get<std::vector<wire::address>>(chosen);
        ASSERT_EQ(sources.size(), 17U);
        EXPECT_TRUE(takes_source(asking(210), sources.front(), near));
        EXPECT_FALSE(takes_source(asking(210), sources.front(), far));
        EXPECT_FALSE(takes_source(asking(210), sources.front(), six));
    }
    const auto many = choose_sources(asking(141), {{near, 70}, {far, 71}}, small);
    ASSERT_NE(std::get_if<std::string>(&many), nullptr);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "71 connections need more local ports",
                        std::get<std::string>(many));
    options named = asking(210);
    named.sources = {"192.0.2.7"};
    const auto own = choose_sources(named, {{far, 70}, {near, 70}}, small);
    EXPECT_TRUE(takes_source(named, std::get<std::vector<wire::address>>(own).front(), far));
    EXPECT_TRUE(takes_source(named, std::get<std::vector<wire::address>>(own).front(), near));
    // An address that was named is not left aside.
    for (const auto& to : {std::vector<destination>{{far, 70}, {six, 70}},
                           std::vector<destination>{{six, 70}, {far, 70}}}) {
        const auto mixed = choose_sources(named, to, small);
        ASSERT_NE(std::get_if<std::string>(&mixed), nullptr);
        EXPECT_PRED_FORMAT2(testing::IsSubstring, "as the server, [::1]:80",
                            std::get<std::string>(mixed));
    }
}

TEST(SourcePorts, EveryPairComesOnceBeforeAnyComesAgain) {
    source_ports ports(
        {*wire::address::parse("127.0.0.2", 0), *wire::address::parse("127.0.0.3", 0)}, true, small,
        7);
    std::set<std::string> seen;
    for (int i = 0; i < 160; ++i) seen.insert(ports.next().to_string());
    EXPECT_EQ(seen.size(), 160U);
    EXPECT_EQ(seen.count(ports.next().to_string()), 1U);
}

TEST(SourcePorts, WithoutChoosingThePortIsTheKernels) {
    source_ports ports({*wire::address::parse("192.0.2.7", 0)}, false, small, 7);
    EXPECT_EQ(ports.next().to_string(), "192.0.2.7:0");
}

TEST(SourcePorts, ReadsTheKernelsRange) { EXPECT_GE(local_port_range().size(), 1U); }

}  // namespace wireload::source_ports_test
