#include "plan/rotation.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace wireload::rotation_test {

prepared_request made(const request_options& o, const std::string& url, bool keep_alive = true) {
    auto out = prepare_request(o, *wire::parse_url(url), keep_alive);
    if (const auto* wrong = std::get_if<std::string>(&out)) throw std::runtime_error(*wrong);
    return std::get<prepared_request>(std::move(out));
}

TEST(PrepareRequest, IsMinimal) {
    EXPECT_EQ(made({}, "http://127.0.0.1:8080/a?b").bytes,
              "GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");
}

TEST(PrepareRequest, AddsWhatWasAskedFor) {
    request_options o;
    o.method = "POST";
    o.body = "{}";
    o.headers = {{"Content-Type", "application/json"}, {"hOST", "example.org"}};
    EXPECT_EQ(made(o, "http://127.0.0.1/", false).bytes,
              "POST / HTTP/1.1\r\nHost: example.org\r\nContent-Type: "
              "application/json\r\nConnection: close\r\n"
              "Content-Length: 2\r\n\r\n{}");
    o = {};
    o.method = "POST";
    EXPECT_EQ(made(o, "http://127.0.0.1/").bytes,
              "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n");
}

TEST(PrepareRequest, PutsValuesInPathFieldsAndBody) {
    request_options o;
    o.method = "PATCH";
    o.headers = {{"X-Request", "{counter}"}};
    o.body = "{\"n\":{counter}}";
    const prepared_request r = made(o, "http://h/items/{counter}?x={random:3-3}");
    EXPECT_FALSE(r.constant());
    EXPECT_EQ(r.pattern.text({1, 1234}),
              "PATCH /items/1234?x=3 HTTP/1.1\r\nHost: h\r\nX-Request: 1234\r\nContent-Length: "
              "10\r\n\r\n{\"n\":1234}");
    // A body that is always the same has its length in the text at once.
    o.body = "{}";
    EXPECT_EQ(made(o, "http://h/").pattern.text({1, 5}),
              "PATCH / HTTP/1.1\r\nHost: h\r\nX-Request: 5\r\nContent-Length: 2\r\n\r\n{}");
}

TEST(PrepareRequest, SaysWhereAValueIsWrong) {
    request_options o;
    o.headers = {{"X-One", "{random:2-1}"}};
    const auto out = prepare_request(o, *wire::parse_url("http://h/"), true);
    ASSERT_TRUE(std::holds_alternative<std::string>(out));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "header X-One", std::get<std::string>(out));
}

TEST(PrepareRequest, IsRepeatedAsOftenAsItGoesInOneSend) {
    prepared_request r = made({}, "http://h/");
    EXPECT_EQ(r.lasting(), r.bytes);
    r.repeat(3);
    EXPECT_EQ(r.lasting(), r.bytes + r.bytes + r.bytes);
    request_options o;
    o.body = std::string(5'000, 'x');
    r = made(o, "http://h/");
    r.repeat(16);
    EXPECT_EQ(r.lasting(), r.bytes + r.bytes + r.bytes);
    o.body = std::string(send_bytes, 'x');
    r = made(o, "http://h/");
    r.repeat(16);
    EXPECT_EQ(r.lasting(), "");
    o.body = "{counter}";
    r = made(o, "http://h/");
    r.repeat(16);
    EXPECT_EQ(r.lasting(), "");
}

std::vector<std::uint32_t> spread_of(std::vector<std::uint32_t> weights) { return spread(weights); }

TEST(Spread, FollowsTheWeights) {
    EXPECT_EQ(spread_of({1}), (std::vector<std::uint32_t>{0}));
    EXPECT_EQ(spread_of({7}), (std::vector<std::uint32_t>{0}));
    EXPECT_EQ(spread_of({1, 1, 1}), (std::vector<std::uint32_t>{0, 1, 2}));
    EXPECT_EQ(spread_of({2, 1}), (std::vector<std::uint32_t>{0, 1, 0}));
    EXPECT_EQ(spread_of({300, 100}), spread_of({3, 1}));
    const auto order = spread_of({5, 3, 2});
    EXPECT_EQ(order.size(), 10U);
    EXPECT_EQ(std::count(order.begin(), order.end(), 0U), 5);
    EXPECT_EQ(std::count(order.begin(), order.end(), 1U), 3);
    EXPECT_EQ(std::count(order.begin(), order.end(), 2U), 2);
    // Evenly: never three of a kind in a row.
    for (std::size_t i = 0; i + 2 < order.size(); ++i)
        EXPECT_FALSE(order[i] == order[i + 1] && order[i] == order[i + 2]);
}

}  // namespace wireload::rotation_test
