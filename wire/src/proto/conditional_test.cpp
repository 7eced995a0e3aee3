// Dates, preconditions and ranges, with the examples of RFC 9110.
#include "wire/proto/conditional.hpp"

#include <gtest/gtest.h>

#include <string>

#include "wire/proto/http_writer.hpp"

namespace wire::http::conditional_test {

TEST(conditional, dates_in_all_three_forms) {
    for (const auto text : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                            "Sun Nov  6 08:49:37 1994"}) {
        EXPECT_EQ(parse_date(text), 784111777) << text;
    }
    EXPECT_EQ(parse_date("Wed Nov 16 08:49:37 1994"), 784975777);
    EXPECT_EQ(parse_date("Friday, 01-Jan-27 00:00:00 GMT"), 1798761600);
    // Never more than 50 years ahead (section 5.6.7).
    EXPECT_EQ(parse_date("Tuesday, 31-Dec-69 00:00:00 GMT"), 3155673600);
    EXPECT_EQ(parse_date("Thursday, 01-Jan-70 00:00:00 GMT"), 0);
    for (const std::int64_t t : {0LL, 951782400LL, 1700000000LL, 4102444799LL}) {
        const auto text = format_date(t);
        EXPECT_EQ(parse_date({text.data(), text.size()}), t);
    }
    for (const auto text :
         {"", "0", "tomorrow", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
          "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
          "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
          "Sun Nov  6 08:49:37 1994 ", "Son, 06 Nov 1994 08:49:37 GMT",
          "Sun, or Sunday, 06-Nov-94 08:49:37 GMT", "Sunda, 06-Nov-94 08:49:37 GMT",
          "Sundays, 06-Nov-94 08:49:37 GMT", "x Nov  6 08:49:37 1994"}) {
        EXPECT_FALSE(parse_date(text)) << text;
    }
}

// "Sun, 06 Nov 1994 08:49:37 GMT" is when it was modified.
constexpr std::string_view same = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr std::string_view earlier = "Sun, 06 Nov 1994 08:49:36 GMT";
constexpr std::string_view future = "Thu, 31 Dec 2099 23:59:59 GMT";
constexpr validators strong{.etag = "\"a\"", .modified = 784111777, .date_is_strong = true};
constexpr validators weak{.etag = "W/\"a\"", .modified = 784111777, .date_is_strong = false};

char check(std::initializer_list<header> fields, const validators& v = strong,
           method m = method::get) {
    header_list list;
    for (const header& h : fields) list.push_back(h);
    switch (check_preconditions(list, m, v)) {
    case precondition::holds: return '+';
    case precondition::not_modified: return '=';
    case precondition::failed: return '-';
    }
    return '?';
}

TEST(conditional, entity_tags) {
    EXPECT_EQ(check({}), '+');
    EXPECT_EQ(check({{"If-None-Match", "\"a\""}}), '=');
    EXPECT_EQ(check({{"If-None-Match", "W/\"a\""}}), '=');
    EXPECT_EQ(check({{"If-None-Match", "\"a\""}}, weak), '=');
    EXPECT_EQ(check({{"If-None-Match", "\"x,y\" , ,\"a\""}}), '=');
    EXPECT_EQ(check({{"If-None-Match", "\"b\""}, {"if-none-match", "\"a\""}}), '=');
    EXPECT_EQ(check({{"If-None-Match", "*"}}), '=');
    EXPECT_EQ(check({{"If-None-Match", "*"}}, strong, method::put), '-');
    for (const auto other : {"\"b\"", "a", "\"a", "", "W/a", "\"A\""})
        EXPECT_EQ(check({{"If-None-Match", other}}), '+') << other;
    EXPECT_EQ(check({{"If-Match", "\"a\""}}), '+');
    EXPECT_EQ(check({{"If-Match", "*"}}), '+');
    EXPECT_EQ(check({{"If-Match", "\"b\""}}), '-');
    EXPECT_EQ(check({{"If-Match", "W/\"a\""}}), '-');
    EXPECT_EQ(check({{"If-Match", "W/\"a\""}}, weak), '-');
}
TEST(conditional, dates) {
    EXPECT_EQ(check({{"If-Modified-Since", same}}), '=');
    EXPECT_EQ(check({{"If-Modified-Since", earlier}}), '+');
    EXPECT_EQ(check({{"If-Modified-Since", "never"}}), '+');
    EXPECT_EQ(check({{"If-Modified-Since", same}}, strong, method::put), '+');
    EXPECT_EQ(check({{"If-Unmodified-Since", same}}), '+');
    EXPECT_EQ(check({{"If-Unmodified-Since", earlier}}), '-');
    EXPECT_EQ(check({{"If-Unmodified-Since", "never"}}), '+');
    EXPECT_EQ(check({{"If-Modified-Since", future}}), '=');
    EXPECT_EQ(check({{"If-Modified-Since", future}}, strong, method::post), '+');
    EXPECT_EQ(check({{"If-Unmodified-Since", future}}), '+');
}
// Where it is not known when it was modified.
TEST(conditional, dates_are_ignored_without_one_of_ours) {
    constexpr validators undated{.etag = "\"a\""};
    for (const auto date : {same, earlier, future}) {
        EXPECT_EQ(check({{"If-Modified-Since", date}}, undated), '+');
        EXPECT_EQ(check({{"If-Unmodified-Since", date}}, undated), '+');
    }
}
TEST(conditional, in_order_of_precedence) {
    EXPECT_EQ(check({{"If-Unmodified-Since", earlier}, {"If-Match", "\"a\""}}), '+');
    EXPECT_EQ(check({{"If-Modified-Since", same}, {"If-None-Match", "\"b\""}}), '+');
    EXPECT_EQ(check({{"If-Modified-Since", earlier}, {"If-None-Match", "\"a\""}}), '=');
    EXPECT_EQ(check({{"If-Match", "\"b\""}, {"If-None-Match", "\"a\""}}), '-');
    EXPECT_EQ(check({{"If-Match", "\"a\""}, {"If-None-Match", "\"a\""}}), '=');
}

std::string ranges(std::string_view range, std::string_view condition = "",
                   const validators& v = strong, std::uint64_t size = 100) {
    header_list list;
    if (!range.empty()) list.push_back({"Range", range});
    if (!condition.empty()) list.push_back({"If-Range", condition});
    std::vector<byte_range> found;
    switch (check_ranges(list, v, size, 4, found)) {
    case range_kind::whole: return "whole";
    case range_kind::unsatisfiable: return "416";
    case range_kind::partial: break;
    }
    std::string text;
    for (const byte_range& r : found)
        text += std::to_string(r.first) + "+" + std::to_string(r.length) + " ";
    return text;
}

TEST(conditional, ranges) {
    EXPECT_EQ(ranges(""), "whole");
    EXPECT_EQ(ranges("bytes=0-0"), "0+1 ");
    EXPECT_EQ(ranges("Bytes=10-19"), "10+10 ");
    EXPECT_EQ(ranges("bytes=90-"), "90+10 ");
    EXPECT_EQ(ranges("bytes=90-1000"), "90+10 ");
    EXPECT_EQ(ranges("bytes=90-99999999999999999999999999"), "90+10 ");
    EXPECT_EQ(ranges("bytes=-10"), "90+10 ");
    EXPECT_EQ(ranges("bytes=-1000"), "0+100 ");
    EXPECT_EQ(ranges("bytes=50-59, ,0-9,-1"), "50+10 0+10 99+1 ");
    EXPECT_EQ(ranges("bytes=100-, 0-0"), "0+1 ");
    for (const auto r : {"bytes=100-", "bytes=100-200", "bytes=-0", "bytes=18446744073709551615-"})
        EXPECT_EQ(ranges(r), "416") << r;
    EXPECT_EQ(ranges("bytes=0-", "", strong, 0), "416");
    EXPECT_EQ(ranges("bytes=-0", "", strong, 0), "416");
    EXPECT_EQ(ranges("bytes=-5", "", strong, 0), "whole");
    EXPECT_EQ(ranges("bytes=0-,-5", "", strong, 0), "whole");
    for (const auto r :
         {"bytes", "bytes=", "bytes=,", "bytes=a-b", "bytes=5-2", "bytes=1", "bytes=--1",
          "bytes=1-2x", "lines=0-1", "bytes 0-1", "bytes=+1-2", "bytes=0-9,5-20", "bytes=0-,-1",
          "bytes=0-63,-64", "bytes=0-0,2-2,4-4,6-6,8-8"}) {
        EXPECT_EQ(ranges(r), "whole") << r;
    }
}
TEST(conditional, dates_given_twice_are_ignored) {
    EXPECT_EQ(check({{"If-Modified-Since", same}}), '=');
    EXPECT_EQ(check({{"If-Modified-Since", same}, {"if-modified-since", same}}), '+');
    EXPECT_EQ(check({{"If-Unmodified-Since", earlier}}), '-');
    EXPECT_EQ(check({{"If-Unmodified-Since", earlier}, {"If-Unmodified-Since", earlier}}), '+');
}
// Neither the first, nor both as one list: others may read them differently.
TEST(conditional, ranges_given_twice_are_ignored) {
    const auto ask = [](std::initializer_list<header> fields) {
        header_list list;
        for (const header& h : fields) list.push_back(h);
        std::vector<byte_range> found;
        return check_ranges(list, strong, 100, 4, found);
    };
    EXPECT_EQ(ask({{"Range", "bytes=0-0"}}), range_kind::partial);
    EXPECT_EQ(ask({{"Range", "bytes=0-0"}, {"range", "bytes=2-3"}}), range_kind::whole);
    EXPECT_EQ(ask({{"Range", "bytes=0-0"}, {"range", "bytes=0-0"}}), range_kind::whole);
    EXPECT_EQ(ask({{"Range", "bytes=900-"}, {"range", "bytes=0-0"}}), range_kind::whole);
    EXPECT_EQ(ask({{"Range", "bytes=0-0"}, {"If-Range", "\"a\""}, {"If-Range", "\"a\""}}),
              range_kind::whole);
}
TEST(conditional, if_range) {
    EXPECT_EQ(ranges("bytes=0-0", "\"a\""), "0+1 ");
    EXPECT_EQ(ranges("bytes=0-0", same), "0+1 ");
    EXPECT_EQ(ranges("bytes=0-0", "\"b\""), "whole");
    EXPECT_EQ(ranges("bytes=0-0", "W/\"a\""), "whole");
    EXPECT_EQ(ranges("bytes=0-0", "W/\"a\"", weak), "whole");
    EXPECT_EQ(ranges("bytes=0-0", "*"), "whole");
    EXPECT_EQ(ranges("bytes=0-0", "\"old\", \"a\""), "whole");  // one tag, and no list
    EXPECT_EQ(ranges("bytes=0-0", "\"a\", \"old\""), "whole");
    EXPECT_EQ(ranges("bytes=0-0", "\"a\"junk"), "whole");
    EXPECT_EQ(ranges("bytes=0-0", earlier), "whole");
    EXPECT_EQ(ranges("bytes=0-0", same, weak), "whole");
}

}  // namespace wire::http::conditional_test
