// Dates as servers have been seen to write them.
#include "wire/proto/lenient_date.hpp"

#include <gtest/gtest.h>

#include "wire/proto/http_writer.hpp"

namespace wire::http::lenient_date_test {

std::string show(std::string_view text) {
    const auto at = parse_lenient_date(text);
    if (!at) return "none";
    const auto date = format_date(*at);
    return {date.data(), date.size()};
}

TEST(lenient_date, the_three_forms_of_http) {
    for (const auto text : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                            "Sun Nov  6 08:49:37 1994"}) {
        EXPECT_EQ(parse_lenient_date(text), 784111777) << text;
    }
    EXPECT_EQ(parse_lenient_date("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
    EXPECT_EQ(parse_lenient_date("Thu, 29 Feb 2024 23:59:59 GMT"), 1709251199);
}
// Of those in the test suite that accompanies RFC 6265 (abarth/http-state, tests/data/dates).
TEST(lenient_date, forms_that_are_met) {
    for (const auto& [text, expected] : std::initializer_list<std::pair<const char*, const char*>>{
             {"Mon, 10-Dec-2007 17:02:24 GMT", "Mon, 10 Dec 2007 17:02:24 GMT"},
             {"Wed, 09 Dec 2009 16:27:23 GMT", "Wed, 09 Dec 2009 16:27:23 GMT"},
             {"Wednesday, 01-Jan-10 00:00:00 GMT", "Fri, 01 Jan 2010 00:00:00 GMT"},
             {"27 Jun 2042 20:59:21 GMT", "Fri, 27 Jun 2042 20:59:21 GMT"},
             {"Tue, 01 Jan 2030 00:00:00 GMT", "Tue, 01 Jan 2030 00:00:00 GMT"},
             {"Mon 10-December-2007 17:02:24 GMT", "Mon, 10 Dec 2007 17:02:24 GMT"},
             {"Mon, 10 Dec 2007 17:02:24", "Mon, 10 Dec 2007 17:02:24 GMT"},
             {"17:02:24 2007 10 dec", "Mon, 10 Dec 2007 17:02:24 GMT"},
             {"Thu Apr 18 22:50:12 2007 GMT", "Wed, 18 Apr 2007 22:50:12 GMT"},
             {"1 Jan 69 0:0:0", "Tue, 01 Jan 2069 00:00:00 GMT"},
             {"1 Jan 70 0:0:0", "Thu, 01 Jan 1970 00:00:00 GMT"},
         }) {
        EXPECT_EQ(show(text), expected) << text;
    }
}
TEST(lenient_date, no_dates) {
    for (const auto text : {"", "Mon", "10 Dec 2007", "17:02:24 GMT", "32 Dec 2007 17:02:24",
                            "30 Feb 2007 17:02:24", "29 Feb 2023 00:00:00", "10 Dec 1600 17:02:24",
                            "10 Dec 2007 24:00:00", "10 Dec 2007 17:60:24", "10 Dec 2007 17:02:60",
                            "0 Dec 2007 17:02:24", "10 Foo 2007 17:02:24", "10 Dec 20071 17:02:24",
                            "10 Dec 2007 17:02", "100 Dec 2007 17:02:24", "\xFF\xFF"}) {
        EXPECT_EQ(show(text), "none") << text;
    }
}

}  // namespace wire::http::lenient_date_test
