#include "plan/message.hpp"

#include <gtest/gtest.h>

namespace wireload::message_test {

// However the frame is cut, the parts put together are the same bytes.
TEST(MessageTemplate, PartsOfAFrameMakeTheWhole) {
    for (const std::string& text :
         {std::string("{c}"), "before{c}" + std::string(300, 'x'), std::string("none"),
          std::string(), std::string("{uuid} and {random} {c}{counter}")}) {
        const message_template m(text, true);
        const wire::ws::mask_key key{1, 2, 3, 4};
        const template_values v{5, 9876};
        wire::buffer expected;
        wire::ws::append_frame(expected, wire::ws::opcode::binary, m.content().text(v), key);
        for (const std::size_t most : {1UL, 2UL, 3UL, 7UL, 100UL, 1000UL}) {
            wire::buffer out;
            std::size_t offset = 0;
            do {
                offset = m.append_frame(out, v, key, offset, most);
            } while (offset != 0);
            EXPECT_EQ(out.view(), expected.view()) << text << " by " << most;
            // A first part that is short, and room for everything then.
            wire::buffer grown;
            if (const std::size_t reached = m.append_frame(grown, v, key, 0, most); reached != 0) {
                EXPECT_EQ(m.append_frame(grown, v, key, reached, 10'000), 0U);
            }
            EXPECT_EQ(grown.view(), expected.view()) << text << " by " << most << ", then the rest";
        }
    }
}

}  // namespace wireload::message_test
