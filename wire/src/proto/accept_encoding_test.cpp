// Weights, ties, wildcards and malformed elements of Accept-Encoding.
#include "wire/proto/accept_encoding.hpp"

#include <gtest/gtest.h>

namespace wire::http {
namespace {

std::string preferred(std::vector<std::string> values) {
    header_list fields;
    fields.push_back({"Accept", "gzip"});
    for (const auto& v : values) fields.push_back({"accept-Encoding", v});
    return std::string(to_string(preferred_coding(fields)));
}

TEST(preferred_coding, the_greatest_weight) {
    EXPECT_EQ(preferred({"gzip, deflate, br"}), "gzip");
    EXPECT_EQ(preferred({"deflate, gzip"}), "gzip");
    EXPECT_EQ(preferred({"gzip;q=0.5, deflate;q=0.501"}), "deflate");
    EXPECT_EQ(preferred({"x-gzip"}), "gzip");
    EXPECT_EQ(preferred({"br", "GZIP ; Q=0.001"}), "gzip");
    EXPECT_EQ(preferred({"deflate"}), "deflate");
}
TEST(preferred_coding, identity) {
    EXPECT_EQ(preferred({}), "");
    EXPECT_EQ(preferred({""}), "");
    EXPECT_EQ(preferred({"br"}), "");
    EXPECT_EQ(preferred({"gzip;q=0"}), "");
    EXPECT_EQ(preferred({"gzip;q=0.5, identity"}), "");
    EXPECT_EQ(preferred({"gzip;q=0.5, identity;q=0.5"}), "gzip");
    EXPECT_EQ(preferred({"identity;q=0, gzip;q=0.1"}), "gzip");
    // Nothing is left: unencoded is better than nothing.
    EXPECT_EQ(preferred({"identity;q=0"}), "");
}
TEST(preferred_coding, the_star_stands_for_those_not_named) {
    EXPECT_EQ(preferred({"*"}), "gzip");
    EXPECT_EQ(preferred({"*;q=0"}), "");
    EXPECT_EQ(preferred({"gzip;q=0, *;q=0.1"}), "deflate");
    EXPECT_EQ(preferred({"gzip;q=0.2, *;q=0"}), "gzip");
    EXPECT_EQ(preferred({"identity, *;q=0.5"}), "");
}
TEST(preferred_coding, among_those_that_are_given) {
    constexpr std::array among{content_coding::zstd, content_coding::gzip};
    header_list fields;
    fields.push_back({"Accept-Encoding", "gzip, deflate, br, zstd"});
    EXPECT_EQ(preferred_coding(fields, among), content_coding::zstd);
    EXPECT_EQ(preferred_coding(fields, {}), content_coding::identity);
}
TEST(accepted_codings, come_by_weight_then_in_the_servers_order) {
    const auto accepted = [](const std::string& value) {
        constexpr std::array among{content_coding::br, content_coding::zstd, content_coding::gzip};
        header_list fields;
        fields.push_back({"Accept-Encoding", value});
        std::string text;
        for (const content_coding c : accepted_codings(fields, among))
            text.append(to_string(c)).append(" ");
        return text;
    };
    EXPECT_EQ(accepted("gzip, deflate, br, zstd"), "br zstd gzip ");
    EXPECT_EQ(accepted("gzip, br;q=0.5, zstd;q=0.7"), "gzip zstd br ");
    EXPECT_EQ(accepted("zstd;q=0.9, *;q=0.9"), "br zstd gzip ");
    EXPECT_EQ(accepted("br;q=0, *"), "zstd gzip ");
    EXPECT_EQ(accepted("br;q=0.2, gzip, identity;q=0.5"), "gzip ");
    EXPECT_EQ(accepted("identity;q=0, *;q=0"), "");
    EXPECT_EQ(accepted("identity;q=0, *;q=0, zstd;q=0.001"), "zstd ");
    EXPECT_EQ(accepted("deflate"), "");
    EXPECT_EQ(accepted(""), "");
}
TEST(preferred_coding, malformed_elements_count_as_not_there) {
    for (const auto bad :
         {"gzip;", "gzip;q", "gzip;q=", "gzip;q=2", "gzip;q=1.001", "gzip;q=0.1234", "gzip;q=.5",
          "gzip;q=-1", "gzip;q=0,5", "gzip;x=1", "g zip"}) {
        EXPECT_EQ(preferred({bad}), "") << bad;
        EXPECT_EQ(preferred({std::string(bad) + ", deflate"}), "deflate") << bad;
    }
    EXPECT_EQ(preferred({",, ,gzip;q=1.000,"}), "gzip");
}

}  // namespace
}  // namespace wire::http
