// The rooms under src/ stay apart: each includes only itself and rooms below it, by path from src/,
// and no two files lead back to each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace rooms_test {

namespace fs = std::filesystem;

// Who may include whom. command_line, engine and output know nothing of each other: main.cpp
// brings them together.
const std::map<std::string, std::set<std::string>> rooms_below = {
    {"base", {}},
    {"measure", {"base"}},
    {"plan", {"base", "measure"}},
    {"command_line", {"base", "measure", "plan"}},
    {"engine", {"base", "measure", "plan"}},
    {"output", {"base", "measure", "plan"}},
};

const fs::path src = fs::path(WIRELOAD_SOURCE_DIR) / "src";

struct include {
    fs::path in;       // from src/
    std::string path;  // as it is written
    std::string room() const { return in.begin()->string(); }
};

std::vector<fs::path> sources() {
    std::vector<fs::path> out;
    for (const auto& entry : fs::recursive_directory_iterator(src)) {
        const std::string name = entry.path().filename().string();
        if (entry.is_regular_file() && name.find("_test.") == std::string::npos)
            out.push_back(fs::relative(entry.path(), src));
    }
    return out;
}

// All but those of the system, of libraries and of wire.
std::vector<include> includes() {
    std::vector<include> out;
    const std::regex line_of(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
    std::smatch found;
    for (const fs::path& file : sources()) {
        std::ifstream in(src / file);
        for (std::string line; std::getline(in, line);) {
            if (!std::regex_search(line, found, line_of)) continue;
            const std::string path = found[2];
            const bool ours =
                found[1] == "\"" || rooms_below.contains(path.substr(0, path.find('/')));
            if (ours && !path.starts_with("wire/")) out.push_back({file, path});
        }
    }
    return out;
}

TEST(Rooms, EverySourceStandsInOne) {
    for (const fs::path& file : sources()) {
        if (file == "main.cpp") continue;
        EXPECT_EQ(std::distance(file.begin(), file.end()), 2) << file;
        EXPECT_TRUE(rooms_below.contains(file.begin()->string())) << file;
    }
}

// A relative include, or one by a bare name, would pass the next test unseen.
TEST(Rooms, IncludesAreWrittenByPathFromSrc) {
    ASSERT_GT(includes().size(), 100U);
    for (const include& i : includes()) {
        EXPECT_TRUE(rooms_below.contains(i.path.substr(0, i.path.find('/'))) &&
                    i.path.find("..") == std::string::npos && fs::exists(src / i.path))
            << i.in << " includes " << i.path;
    }
}

TEST(Rooms, IncludeOnlyRoomsBelow) {
    for (const include& i : includes()) {
        if (i.in == "main.cpp") continue;
        const std::string other = i.path.substr(0, i.path.find('/'));
        EXPECT_TRUE(other == i.room() || rooms_below.at(i.room()).contains(other))
            << i.in << " includes " << i.path;
    }
}

// A header and the source of its name are one.
TEST(Rooms, NoFilesLeadBackToEachOther) {
    const auto unit = [](fs::path file) { return file.replace_extension().string(); };
    std::map<std::string, std::set<std::string>> leads_to;
    for (const include& i : includes()) {
        if (unit(i.in) != unit(i.path)) leads_to[unit(i.in)].insert(unit(i.path));
    }
    std::set<std::string> done;
    std::vector<std::string> way;
    const auto visit = [&](const auto& self, const std::string& at) -> void {
        const auto before = std::find(way.begin(), way.end(), at);
        if (before != way.end()) {
            std::string circle;
            for (auto it = before; it != way.end(); ++it) circle += *it + " -> ";
            ADD_FAILURE() << circle << at;
            return;
        }
        if (done.contains(at)) return;
        way.push_back(at);
        for (const std::string& next : leads_to[at]) self(self, next);
        way.pop_back();
        done.insert(at);
    };
    std::vector<std::string> all;
    for (const auto& [from, to] : leads_to) all.push_back(from);
    for (const std::string& from : all) visit(visit, from);
}

}  // namespace rooms_test
