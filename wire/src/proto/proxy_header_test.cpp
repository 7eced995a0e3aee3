#include "wire/proto/proxy_header.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pieces.hpp"

namespace wire::proxy_header_test {

using event = proxy_header_parser::event;
using kind = proxy_header::kind;

// "IP:PORT>IP:PORT", "own", "unix", "failed" or "more"; then " +N" for bytes that are not its own.
std::string said(const testing::pieces& cut, std::size_t most = 4096) {
    proxy_header_parser parser(most);
    std::size_t left = 0;
    event what = event::need_more;
    for (const auto piece : cut) {
        const testing::exact_copy copy(piece);
        if (what == event::need_more) {
            const auto s = parser.parse(copy);
            what = s.what;
            EXPECT_TRUE(what != event::need_more || s.consumed == piece.size());
            left += piece.size() - s.consumed;
        } else {
            left += piece.size();
        }
    }
    std::string out = what == event::need_more ? "more" : what == event::failed ? "failed" : "own";
    if (what == event::failed) return out;
    if (what == event::complete && parser.header().what == kind::unix_socket) out = "unix";
    if (what == event::complete && parser.header().what == kind::unknown) out = "unknown";
    if (what == event::complete && parser.header().what == kind::ip) {
        out.clear();
        for (const auto* e : {&parser.header().source, &parser.header().destination}) {
            if (!out.empty()) out += '>';
            for (std::size_t i = 0; i < (e->v6 ? 16U : 4U); ++i)
                out += (i > 0 ? "." : "") + std::to_string(e->bytes[i]);
            out += ":" + std::to_string(e->port);
        }
    }
    return left > 0 ? out + " +" + std::to_string(left) : out;
}

std::string block(char command, char family, const std::string& rest) {
    std::string out("\r\n\r\n\0\r\nQUIT\n", 12);
    out += command;
    out += family;
    out += static_cast<char>(rest.size() >> 8);
    out += static_cast<char>(rest.size());
    return out + rest;
}
const std::string four("\x01\x02\x03\x04\x05\x06\x07\x08\x00\x50\x01\xBB", 12);
const std::string six = std::string(15, '\0') + "\x01" + std::string(15, '\0') + "\x02" +
                        std::string("\x00\x50\x01\xBB", 4);

TEST(proxy_header, at_every_cut_and_with_bytes_behind) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"PROXY TCP4 1.2.3.4 5.6.7.8 80 443\r\n", "1.2.3.4:80>5.6.7.8:443"},
        {"PROXY TCP6 ::1 ::2 80 443\r\n",
         "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1:80>0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2:443"},
        {"PROXY UNKNOWN\r\n", "unknown"},
        {"PROXY UNKNOWN ffff::1 anything at all\r\n", "unknown"},
        {block('\x21', '\x11', four), "1.2.3.4:80>5.6.7.8:443"},
        {block('\x21', '\x21', six),
         "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1:80>0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2:443"},
        {block('\x21', '\x31', std::string(216, 'p')), "unix"},
        {block('\x21', '\x12', four), "unknown"},
        {block('\x21', '\0', ""), "unknown"},
        {block('\x21', '\0', "whatever"), "unknown"},
        {block('\x20', '\x11', four), "own"},
        {block('\x20', '\x77', "x"), "own"},
        // Two extensions: a name, and nothing.
        {block('\x21', '\x11',
               four + std::string("\x02\0\x01"
                                  "a\x04\0\0",
                                  7)),
         "1.2.3.4:80>5.6.7.8:443"},
    };
    for (const auto& [text, expected] : cases) {
        for (const auto& cut : testing::all_cuts(text)) EXPECT_EQ(said(cut), expected) << text;
        const std::string more = text + "GET";
        for (const auto& cut : testing::all_cuts(more))
            EXPECT_EQ(said(cut), expected + " +3") << text;
        for (std::size_t n = 0; n < text.size(); ++n)
            EXPECT_EQ(said({std::string_view(text).substr(0, n)}), "more") << text;
    }
}
TEST(proxy_header, malformed_at_every_cut) {
    const std::string line = "PROXY TCP4 1.2.3.4 5.6.7.8 80 443";
    for (const std::string& text : {std::string("GET / HTTP/1.1\r\n\r\n"),
                                    std::string("\x16\x03\x01"),
                                    line + "\n",
                                    line + " \r\n",
                                    line + "\r\r\n",
                                    std::string("PROXY\r\n"),
                                    std::string("PROXY \r\n"),
                                    std::string("PROXY TCP5 1.2.3.4 5.6.7.8 80 443\r\n"),
                                    std::string("PROXY TCP4 ::1 ::1 80 443\r\n"),
                                    std::string("PROXY TCP6 1.2.3.4 5.6.7.8 80 443\r\n"),
                                    std::string("PROXY TCP4  1.2.3.4 5.6.7.8 80 443\r\n"),
                                    std::string("PROXY TCP4 1.2.3.4 5.6.7.8 080 443\r\n"),
                                    std::string("PROXY TCP4 1.2.3.4 5.6.7.8 80 65536\r\n"),
                                    std::string("PROXY TCP4 1.2.3.4 5.6.7.8 80\r\n"),
                                    std::string("PROXY tcp4\r\n"),
                                    "PROXY UNKNOWN " + std::string(100, 'x'),
                                    block('\x11', '\x11', four),
                                    block('\x22', '\x11', four),
                                    block('\x21', '\x41', four),
                                    block('\x21', '\x13', four),
                                    block('\x21', '\x11', four.substr(1)),
                                    block('\x21', '\x21', four),
                                    block('\x21', '\x31', std::string(215, 'p')),
                                    block('\x21', '\x11', four + "\x02"),
                                    block('\x21', '\x11',
                                          four + std::string("\x02\0\x02"
                                                             "a",
                                                             4)),
                                    std::string("\r\n\r\nGET")}) {
        for (const auto& cut : testing::all_cuts(text)) EXPECT_EQ(said(cut), "failed") << text;
    }
}
TEST(proxy_header, longest_line) {
    const std::string most = "PROXY UNKNOWN " + std::string(91, 'x') + "\r\n";
    ASSERT_EQ(most.size(), 107U);
    EXPECT_EQ(said({most}), "unknown");
    EXPECT_EQ(said({"PROXY UNKNOWN " + std::string(92, 'x') + "\r\n"}), "failed");
}
TEST(proxy_header, block_beyond_the_limit_is_refused_by_its_length_alone) {
    const std::string text = block('\x20', '\0', std::string(84, 'x'));
    EXPECT_EQ(said({text}, 100), "own");
    EXPECT_EQ(said({text}, 99), "failed");
    EXPECT_EQ(said({std::string_view(text).substr(0, 16)}, 99), "failed");
}
TEST(proxy_header, checksum) {
    // Of the specification's PP2_TYPE_CRC32C, calculated apart.
    const auto with = [](const std::string& sum) {
        return block('\x21', '\x11', four + std::string("\x03\0\x04", 3) + sum);
    };
    const std::string right("\x5C\x04\x43\xC9", 4);
    const std::string summed = with(right);
    for (const auto& cut : testing::all_cuts(summed))
        EXPECT_EQ(said(cut), "1.2.3.4:80>5.6.7.8:443");
    EXPECT_EQ(said({with(std::string("\0\0\0\0", 4))}), "failed");
    EXPECT_EQ(said({block('\x21', '\x11',
                          four + std::string("\x03\0\x03"
                                             "abc",
                                             6))}),
              "failed");
}

}  // namespace wire::proxy_header_test
