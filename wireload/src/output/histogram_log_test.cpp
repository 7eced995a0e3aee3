#include "output/histogram_log.hpp"

#include <sstream>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

namespace wireload::histogram_log_test {

std::string unbase64(std::string_view text) {
    static constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    unsigned bits = 0;
    int have = 0;
    for (const char c : text) {
        if (c == '=') break;
        bits = (bits << 6) | static_cast<unsigned>(alphabet.find(c));
        have += 6;
        if (have >= 8) {
            have -= 8;
            out.push_back(static_cast<char>((bits >> have) & 0xff));
        }
    }
    return out;
}

std::uint32_t big_endian(std::string_view bytes) {
    std::uint32_t out = 0;
    for (int i = 0; i < 4; ++i)
        out = (out << 8) | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
    return out;
}

std::string inflate_payload(const histogram& h) {
    const std::string packed = unbase64(encode_v2_compressed(h));
    EXPECT_EQ(big_endian(packed), 0x1c849314U);
    EXPECT_EQ(big_endian(packed.substr(4)), packed.size() - 8);
    std::string plain(1 << 20, '\0');
    uLongf size = plain.size();
    EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(plain.data()), &size,
                         reinterpret_cast<const Bytef*>(packed.data() + 8), packed.size() - 8),
              Z_OK);
    plain.resize(size);
    return plain;
}

TEST(Base64, MatchesRfc4648Vectors) {
    const std::vector<std::pair<std::string, std::string>> vectors = {{"", ""},
                                                                      {"f", "Zg=="},
                                                                      {"fo", "Zm8="},
                                                                      {"foo", "Zm9v"},
                                                                      {"foob", "Zm9vYg=="},
                                                                      {"fooba", "Zm9vYmE="},
                                                                      {"foobar", "Zm9vYmFy"}};
    for (const auto& [plain, coded] : vectors) EXPECT_EQ(base64(plain), coded);
}

TEST(EncodeV2, WritesHeaderAndZigZagCounts) {
    histogram h;
    h.record(1);
    h.record(1);
    h.record(5);
    for (int i = 0; i < 200; ++i) h.record(6);
    const std::string plain = inflate_payload(h);
    ASSERT_GE(plain.size(), 40U);
    EXPECT_EQ(big_endian(plain), 0x1c849313U);
    EXPECT_EQ(big_endian(plain.substr(4)), plain.size() - 40);
    EXPECT_EQ(big_endian(plain.substr(12)), 3U);
    EXPECT_EQ(plain.substr(32, 8), std::string("\x3f\xf0\0\0\0\0\0\0", 8));
    // One zero (-1), 2, three zeros (-3), 1, 200 in two bytes.
    EXPECT_EQ(plain.substr(40), std::string("\x01\x04\x05\x02\x90\x03"));
}

TEST(EncodeV2, AnEmptyHistogramHasNoCounts) { EXPECT_EQ(inflate_payload(histogram{}).size(), 40U); }

TEST(LogWriter, WritesFormat13) {
    histogram h;
    h.record(2'500'000);
    std::ostringstream out;
    histogram_log_writer writer(out, "a test", std::chrono::milliseconds(1'441'812'279'474));
    writer.write(h, std::chrono::milliseconds(127), std::chrono::milliseconds(1007));
    EXPECT_EQ(out.str().substr(0, out.str().find("HISTFAAA")),
              "#a test\n#[Histogram log format version 1.3]\n"
              "#[StartTime: 1441812279.474 (seconds since epoch), Wed Sep 09 15:24:39 UTC 2015]\n"
              "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_"
              "Histogram\"\n"
              "0.127,1.007,2.500,");
    EXPECT_TRUE(out.str().ends_with("\n"));
}

}  // namespace wireload::histogram_log_test
