#include "plan/text_template.hpp"

#include <set>

#include <gtest/gtest.h>

namespace wireload::text_template_test {

text_template made(std::string_view text, bool short_counter = false) {
    auto parsed = text_template::parse(text, short_counter);
    if (const auto* wrong = std::get_if<std::string>(&parsed)) throw std::runtime_error(*wrong);
    return std::get<text_template>(std::move(parsed));
}

TEST(TextTemplate, PutsTheCounterIn) {
    const text_template m = made("{\"c\":{c}}", true);
    EXPECT_EQ(m.text({1, 17}), "{\"c\":17}");
    EXPECT_TRUE(m.equals("{\"c\":17}", {1, 17}));
    EXPECT_FALSE(m.equals("{\"c\":17}", {1, 18}));
    EXPECT_FALSE(m.equals("{\"c\":17", {1, 17}));
    EXPECT_FALSE(m.equals("{\"c\":170}", {1, 17}));
    EXPECT_FALSE(m.equals("", {1, 17}));
    EXPECT_EQ(made("{c}").text({1, 17}), "{c}");
    EXPECT_EQ(made("/{counter}/{counter}").text({1, 17}), "/17/17");
}

TEST(TextTemplate, BracesOfJsonStandForThemselves) {
    for (const char* text : {"{\"a\":{\"b\":[{}]}}", "{{}}", "{", "}", "{{", "{counter",
                             "{ counter}", "{Counter}", "{randomly}", "{uuid:1}", ""}) {
        const text_template t = made(text);
        EXPECT_TRUE(t.is_constant()) << text;
        EXPECT_EQ(t.text({1, 2}), text);
    }
}

TEST(TextTemplate, TwoBracesAreOneInFrontOfAName) {
    EXPECT_EQ(made("{{counter} {{uuid}} {{random:1-2}").text({1, 2}),
              "{counter} {uuid}} {random:1-2}");
    EXPECT_EQ(made("{{{counter}").text({1, 2}), "{{counter}");
    EXPECT_EQ(made("{\"a\":{\"b\":{counter}}}").text({1, 2}), "{\"a\":{\"b\":2}}");
}

TEST(TextTemplate, RandomNumbersKeepToTheirRange) {
    std::set<std::string> seen;
    const text_template die = made("{random:1-6}");
    for (std::uint64_t n = 1; n <= 1000; ++n) seen.insert(die.text({7, n}));
    EXPECT_EQ(seen, (std::set<std::string>{"1", "2", "3", "4", "5", "6"}));
    EXPECT_EQ(made("{random:5-5}").text({7, 1}), "5");
    std::set<std::string> all;
    for (std::uint64_t n = 1; n <= 1000; ++n) {
        all.insert(made("{random}").text({7, n}));
        EXPECT_LE(std::stoull(*all.rbegin()), 2'147'483'647U);
    }
    EXPECT_GT(all.size(), 990U);
    EXPECT_EQ(made("{random:0-18446744073709551615}").is_constant(), false);
}

TEST(TextTemplate, ValuesDependOnSeedCounterAndPlaceAlone) {
    const text_template t = made("{random} {random}");
    EXPECT_EQ(t.text({1, 2}), t.text({1, 2}));
    EXPECT_NE(t.text({1, 2}), t.text({1, 3}));
    EXPECT_NE(t.text({1, 2}), t.text({2, 2}));
    const std::string text = t.text({1, 2});
    EXPECT_NE(text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1));
}

TEST(TextTemplate, UuidsHaveTheFormOfVersion4) {
    const text_template t = made("{uuid}");
    std::set<std::string> seen;
    for (std::uint64_t n = 1; n <= 200; ++n) {
        const std::string id = t.text({3, n});
        ASSERT_EQ(id.size(), 36U);
        for (std::size_t i = 0; i < id.size(); ++i) {
            if (i == 8 || i == 13 || i == 18 || i == 23) EXPECT_EQ(id[i], '-');
            else
                EXPECT_NE(std::string_view("0123456789abcdef").find(id[i]), std::string_view::npos)
                    << id;
        }
        EXPECT_EQ(id[14], '4');
        EXPECT_NE(std::string_view("89ab").find(id[19]), std::string_view::npos) << id;
        seen.insert(id);
    }
    EXPECT_EQ(seen.size(), 200U);
}

TEST(TextTemplate, RefusesBadRanges) {
    for (const char* text : {"{random:}", "{random:5}", "{random:6-1}", "{random:-1-5}",
                             "{random:1-x}", "{random:1-99999999999999999999}"}) {
        EXPECT_TRUE(std::holds_alternative<std::string>(text_template::parse(text))) << text;
    }
}

TEST(TextTemplate, FindsTheCounterOfAnEcho) {
    EXPECT_EQ(made("n={counter};{uuid}").counter_in("n=42;x"), 42U);
    EXPECT_EQ(made("{counter}").counter_in("42"), 42U);
    EXPECT_EQ(made("n={counter}").counter_in("m=42"), 0U);
    EXPECT_EQ(made("n={counter}").counter_in("n="), 0U);
    EXPECT_EQ(made("{random}{counter}").counter_in("42"), 0U);
    for (const char* text :
         {"{counter}0", "{counter}{random}", "{counter}{uuid}", "{counter}{counter}"})
        EXPECT_EQ(made(text).counter_in("420"), 0U) << text;
    EXPECT_EQ(made("constant").counter_in("42"), 0U);
}

// Whatever its values, the length that the head states is the body's.
TEST(TextTemplate, StatesTheLengthOfWhatFollows) {
    text_template t = made("head {random:0-100000} ");
    t.append_length_of_rest();
    t.append(made("body {counter} {random:0-100000} {uuid}"));
    for (const std::uint64_t n : {1U, 9U, 10U, 12345U}) {
        const std::string text = t.text({5, n});
        const std::size_t end = text.find("\r\n\r\n");
        ASSERT_NE(end, std::string::npos);
        const std::string head = text.substr(0, end);
        EXPECT_EQ(head.substr(head.rfind(' ') + 1), std::to_string(text.size() - end - 4));
        EXPECT_EQ(t.size({5, n}), text.size());
    }
}

// The n-th random value of the one is the n-th of the other, whatever stands around it.
TEST(TextTemplate, TakesTheValuesOfARequest) {
    text_template request = made("GET /{random:5-9}?n={counter} ");
    request.append_length_of_rest();
    request.append(made("{uuid}"));
    text_template reply = made("{counter}:{random}:{uuid}:{counter}");
    ASSERT_EQ(reply.take_values_of(request), std::nullopt);
    for (std::uint64_t n = 1; n < 30; ++n) {
        const std::string sent = request.text({7, n});
        const std::string uuid = sent.substr(sent.size() - 36);
        const std::string drawn(1, sent[5]);
        const std::string counter = std::to_string(n);
        EXPECT_EQ(reply.text({7, n}), counter + ":" + drawn + ":" + uuid + ":" + counter);
    }
    text_template more = made("{random}{uuid}{uuid}");
    EXPECT_NE(more.take_values_of(request), std::nullopt);
    text_template others = made("{uuid}");
    EXPECT_NE(others.take_values_of(request), std::nullopt);
    text_template none = made("only {counter}");
    EXPECT_EQ(none.take_values_of(made("x")), std::nullopt);
}

TEST(TextTemplate, PartsMakeTheWhole) {
    text_template t = made("a{counter}");
    t.append_length_of_rest();
    t.append(made("b{random}c{uuid}{counter}"));
    const template_values v{9, 1234};
    const std::string whole = t.text(v);
    for (const std::size_t most : {1UL, 2UL, 5UL, 13UL, 1000UL}) {
        std::string out;
        std::size_t offset = 0;
        while (true) {
            const std::size_t reached =
                t.walk(v, offset, most, [&](std::string_view piece, std::size_t at) {
                    EXPECT_EQ(at, out.size());
                    out += piece;
                });
            if (reached - offset < most) break;
            offset = reached;
        }
        EXPECT_EQ(out, whole) << most;
    }
}

}  // namespace wireload::text_template_test
