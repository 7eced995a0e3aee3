#include "wire/proto/trailers.hpp"

#include <gtest/gtest.h>

namespace wire::http::trailers_test {

TEST(trailers, may_not_frame_route_authenticate_or_describe_the_message) {
    for (const auto* name :
         {"Content-Length", "transfer-encoding", "HOST", "If-Match", "if-anything", "Authorization",
          "Set-Cookie", "Cookie", "TE", "Content-Type", "Content-Encoding", "Trailer", "Connection",
          "", "a b", "a:b", "a\r\nb"}) {
        EXPECT_FALSE(may_be_trailer(name)) << name;
    }
    for (const auto* name :
         {"Digest", "Server-Timing", "X-Checksum", "grpc-status", "ETag", "if"}) {
        EXPECT_TRUE(may_be_trailer(name)) << name;
    }
}
TEST(trailers, keeps_their_own_bytes) {
    trailer_list all;
    {
        std::string line = "X-Sum: \t 1 2 \t";
        all.add(line);
        line.assign("Host: evil");
        all.add(line);
        all.add("X-Empty:");
        all.add("nothing");
    }
    const trailer_list moved = std::move(all);
    ASSERT_EQ(moved.fields().size(), 2U);
    EXPECT_EQ(moved.fields().find("x-sum"), "1 2");
    EXPECT_EQ(moved.fields().find("X-Empty"), "");
}

}  // namespace wire::http::trailers_test
