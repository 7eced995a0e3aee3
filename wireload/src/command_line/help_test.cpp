#include "command_line/help.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "command_line/command_line.hpp"
#include "command_line/completion.hpp"
#include "command_line/option_table.hpp"

namespace wireload::help_test {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
}

// All words that look like a long flag.
std::set<std::string> flags_in(const std::string& text) {
    std::set<std::string> out;
    for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 2)) {
        const std::size_t end = std::min(
            text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-", at), text.size());
        if (end - at > 2) out.insert(text.substr(at, end - at));
    }
    return out;
}

std::set<std::string> all_flags() {
    std::set<std::string> out;
    for (const option_section& section : option_sections()) {
        for (const option_row& row : section.rows) {
            if (!row.long_name().empty()) out.insert(std::string(row.long_name()));
        }
    }
    return out;
}

TEST(Help, FitsEightyColumns) {
    for (const std::string& line : lines_of(help_text())) EXPECT_LE(line.size(), 80U) << line;
}

TEST(Help, TheShortOneFitsAScreen) {
    const auto lines = lines_of(short_help_text());
    EXPECT_LE(lines.size(), 40U);
    for (const std::string& line : lines) EXPECT_LE(line.size(), 80U) << line;
}

// Every flag that is accepted is described, and every flag that is named anywhere is accepted.
TEST(Help, NamesExactlyTheFlagsThatExist) {
    EXPECT_EQ(flags_in(help_text()), all_flags());
    for (const std::string& flag : all_flags()) {
        const auto parsed = parse_command_line({"wireload", flag}, 1);
        ASSERT_TRUE(std::holds_alternative<early_exit>(parsed)) << flag;
        EXPECT_PRED_FORMAT2(testing::IsNotSubstring, "there is no",
                            std::get<early_exit>(parsed).text)
            << flag;
    }
}

TEST(Help, EveryChoiceThatIsListedIsAccepted) {
    for (const option_section& section : option_sections()) {
        for (const option_row& row : section.rows) {
            for (const std::string& choice : row.choice_list()) {
                const std::string word = std::string(row.long_name()) + "=" + choice;
                const auto parsed = parse_command_line({"wireload", word}, 1);
                // Refused later at most: for want of a URL, or of its companions.
                ASSERT_TRUE(std::holds_alternative<early_exit>(parsed)) << word;
                EXPECT_PRED_FORMAT2(testing::IsNotSubstring,
                                    word.substr(0, word.find('=')) + " " + choice + ":",
                                    std::get<early_exit>(parsed).text);
            }
        }
    }
}

TEST(Help, NoTwoOptionsShareAName) {
    std::set<std::string_view> seen;
    for (const option_section& section : option_sections()) {
        for (const option_row& row : section.rows) {
            for (const std::string_view name : {row.short_name(), row.long_name()}) {
                if (name.empty()) continue;
                EXPECT_TRUE(seen.insert(name).second) << name;
            }
        }
    }
}

TEST(Manual, NamesEveryFlagAndEscapesWhatRoffWouldEat) {
    std::string plain = manual_page();
    for (std::size_t at = plain.find("\\-"); at != std::string::npos; at = plain.find("\\-", at))
        plain.erase(at, 1);
    EXPECT_EQ(flags_in(plain), all_flags());
    static const std::set<std::string> macros = {".\\\"", ".TH", ".SH", ".B", ".PP", ".TP"};
    for (const std::string& line : lines_of(manual_page())) {
        EXPECT_TRUE(!line.starts_with('.') || macros.contains(line.substr(0, line.find(' '))))
            << line;
        EXPECT_FALSE(line.empty());
        EXPECT_FALSE(line.starts_with('\'')) << line;
    }
}

TEST(Completion, OffersEveryFlagInEveryShell) {
    for (const char* shell : {"bash", "zsh"}) {
        const std::set<std::string> named = flags_in(completion_script(shell));
        for (const std::string& flag : all_flags())
            EXPECT_TRUE(named.contains(flag)) << shell << ' ' << flag;
    }
    const std::string fish = completion_script("fish");
    for (const std::string& flag : all_flags()) {
        EXPECT_PRED_FORMAT2(testing::IsSubstring, " -l " + flag.substr(2) + " ", fish);
    }
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "-x -a 'echo count none'", fish);
}

}  // namespace wireload::help_test
