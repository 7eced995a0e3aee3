#include "plan/deflater.hpp"

#include <string>

#include <gtest/gtest.h>

#include "command_line/command_line.hpp"

#include "wire/proto/ws_reader.hpp"

namespace wireload::deflater_test {

constexpr wire::ws::mask_key key{1, 2, 3, 4};

std::unique_ptr<plan> plan_with(const std::string& message) {
    auto parsed = parse_command_line(
        {"wireload", "--print", "request", "--deflate", "--message", message, "ws://a.invalid/"},
        1);
    return std::get<std::unique_ptr<plan>>(make_plan(std::get<options>(std::move(parsed))));
}

std::string frame(deflater& d, std::uint32_t connection, std::uint64_t counter, int bits,
                  std::size_t most) {
    wire::buffer out;
    std::size_t offset = 0;
    do {
        offset = d.append_frame(out, connection, counter, bits, key, offset, most);
    } while (offset != 0);
    return std::string(out.view());
}

// What a server reads.
std::string inflated(deflater& d, std::string bytes, int bits) {
    const wire::limits l;
    wire::ws::permessage_deflate state(wire::ws::role::server, deflater::agreement(bits),
                                       deflate_asked, d.pool(), l);
    wire::ws::message_reader reader(wire::ws::role::server, l, &state);
    const auto step = reader.read(bytes);
    EXPECT_EQ(step.what, wire::ws::event::message) << wire::to_string(step.error);
    EXPECT_EQ(step.consumed, bytes.size());
    return std::string(step.data);
}

TEST(Deflater, AServerReadsTheMessageHoweverItsFrameWasCut) {
    for (const std::string& text : {std::string(3000, 'x'), std::string(300, 'y') + "{c} {uuid}",
                                    std::string("short"), std::string()}) {
        const auto p = plan_with(text);
        deflater d(*p);
        for (const int bits : {8, 9, 15}) {
            for (const std::size_t most : {1UL, 7UL, 100'000UL}) {
                EXPECT_EQ(inflated(d, frame(d, 3, 5, bits, most), bits),
                          p->message.content().text(p->values_of(3, 5)))
                    << text << " by " << most;
                EXPECT_EQ(d.compressed(), bits > 8 && text.size() > 300);
            }
        }
    }
}

// Another message may be packed while one is half written.
TEST(Deflater, PartsOfAFrameMakeTheWholeWhateverCameBetween) {
    const auto p = plan_with("{uuid}{uuid}{uuid}{uuid}{c} and {c}" + std::string(200, 'z'));
    deflater d(*p);
    const std::string whole = frame(d, 1, 7, 15, 100'000);
    wire::buffer out;
    std::size_t offset = 0;
    do {
        offset = d.append_frame(out, 1, 7, 15, key, offset, 10);
        frame(d, 2, 7, 15, 100'000);
        frame(d, 1, 8, 9, 100'000);
    } while (offset != 0);
    EXPECT_EQ(out.view(), whole);
}

}  // namespace wireload::deflater_test
