// The layers stay apart: proto/ knows no socket, clock, TLS or loop; nothing below knows what is
// above it; the library does not print, abort or read the environment.
//
// One folder is one layer. A file includes its own folder's private headers by plain name, public
// headers as "wire/LAYER/NAME", and another layer's private headers as "LAYER/NAME", from wire/src.
// No other way is allowed, so that each include says which layer it reaches.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace layering_test {

namespace fs = std::filesystem;

std::vector<fs::path> sources(const std::string& layer) {
    std::vector<fs::path> out;
    for (const std::string part : {"src/", "include/wire/"}) {
        const fs::path folder = fs::path(WIRE_SOURCE_DIR) / (part + layer);
        if (!fs::exists(folder)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(folder)) {
            const std::string name = entry.path().filename().string();
            if (entry.is_regular_file() && name.find("_test.") == std::string::npos)
                out.push_back(entry.path());
        }
    }
    return out;
}

void expect_absent(const std::string& layer, const std::string& pattern) {
    const auto files = sources(layer);
    ASSERT_FALSE(files.empty()) << layer;
    const std::regex expression(pattern);
    for (const fs::path& file : files) {
        std::ifstream in(file);
        std::string line;
        for (int number = 1; std::getline(in, line); ++number) {
            line = line.substr(0, line.find("//"));
            EXPECT_FALSE(std::regex_search(line, expression))
                << file.string() << ":" << number << ": " << line;
        }
    }
}

constexpr const char* system_headers =
    R"(#include\s*[<"](sys/|netinet/|arpa/|netdb|unistd|poll|fcntl|signal|time\.h|ctime|openssl/))";

// ---- includes ----

// From the lowest to the highest; each may include itself and what is named beside it.
const std::vector<std::pair<std::string, std::set<std::string>>> layers{
    {"base", {}},
    {"proto", {"base"}},
    {"loop", {"base"}},
    {"tls", {"base", "loop"}},
    {"websocket", {"base", "proto", "loop"}},
    {"server", {"base", "proto", "loop", "tls", "websocket"}},
    {"client", {"base", "proto", "loop", "tls", "websocket"}},
};
// Folders with stand-ins for a part that is left out of the build belong to that part's layer.
const std::map<std::string, std::string> stand_ins{
    {"tls_none", "tls"},        {"zlib_none", "proto"},       {"files_none", "server"},
    {"cookies_none", "client"}, {"topics_none", "websocket"}, {"io_uring_none", "loop"},
    {"brotli_none", "proto"},   {"zstd_none", "proto"}};

struct source_file {
    fs::path path;
    std::string folder;  // of src or include/wire
    bool is_public = false;

    bool is_test() const { return path.filename().string().find("_test.") != std::string::npos; }
    std::string layer() const {
        const auto found = stand_ins.find(folder);
        return found == stand_ins.end() ? folder : found->second;
    }
};

const std::set<std::string>* allowed_to(const std::string& layer) {
    for (const auto& [name, others] : layers) {
        if (name == layer) return &others;
    }
    return nullptr;
}

// What is wrong with this include in this file; empty: nothing.
std::string objection(const source_file& file, const std::string& included) {
    const fs::path root(WIRE_SOURCE_DIR);
    if (included.find("..") != std::string::npos) return "climbs out of its folder";
    std::string reached;
    if (included.starts_with("wire/")) {
        reached = included.substr(5, included.find('/', 5) - 5);
        if (!fs::exists(root / "include" / included)) return "there is no such public header";
    } else if (file.is_public) {
        return "a public header includes a private one";
    } else if (included.find('/') == std::string::npos) {
        if (fs::exists(root / "src" / file.folder / included)) return "";
        if (file.is_test() && fs::exists(root / "tests" / included)) return "";
        return "a plain name that its own folder does not hold";
    } else {
        reached = included.substr(0, included.find('/'));
        if (reached == file.folder) return "its own folder's headers go by their plain names";
        if (!fs::exists(root / "src" / included)) return "there is no such private header";
    }
    if (allowed_to(reached) == nullptr) return "not in a layer";
    if (file.is_test() || reached == file.layer()) return "";
    return allowed_to(file.layer())->contains(reached) ? "" : "its layer may not know that one";
}

std::vector<source_file> all_files() {
    std::vector<source_file> out;
    for (const bool is_public : {false, true}) {
        const fs::path top = fs::path(WIRE_SOURCE_DIR) / (is_public ? "include/wire" : "src");
        for (const auto& entry : fs::recursive_directory_iterator(top)) {
            if (!entry.is_regular_file()) continue;
            const fs::path below = fs::relative(entry.path(), top);
            out.push_back({entry.path(), below.begin()->string(), is_public});
        }
    }
    return out;
}

TEST(layering, every_folder_is_a_layer_that_knows_only_lower_ones) {
    std::set<std::string> lower;
    for (const auto& [name, others] : layers) {
        for (const std::string& other : others) EXPECT_TRUE(lower.contains(other)) << name;
        lower.insert(name);
    }
    for (const source_file& file : all_files())
        EXPECT_NE(allowed_to(file.layer()), nullptr) << file.path << " is in no layer";
}
TEST(layering, every_include_says_which_layer_it_reaches_and_may) {
    const std::regex quoted(R"re(^\s*#\s*include\s*"([^"]+)")re");
    const std::regex bracketed(R"re(^\s*#\s*include\s*<((?:wire/|\.\.)[^>]+)>)re");
    int includes = 0;
    for (const source_file& file : all_files()) {
        std::ifstream in(file.path);
        std::string line;
        for (int number = 1; std::getline(in, line); ++number) {
            std::smatch found;
            if (!std::regex_search(line, found, quoted) &&
                !std::regex_search(line, found, bracketed))
                continue;
            ++includes;
            EXPECT_EQ(objection(file, found[1]), "")
                << file.path.string() << ":" << number << ": " << line;
        }
    }
    EXPECT_GT(includes, 400);
}
TEST(layering, an_include_that_breaks_the_rules_is_seen) {
    const source_file loop{"src/loop/stream.cpp", "loop", false};
    EXPECT_EQ(objection(loop, "engine.hpp"), "");
    EXPECT_EQ(objection(loop, "wire/base/buffer.hpp"), "");
    EXPECT_EQ(objection(loop, "base/counter.hpp"), "");
    EXPECT_NE(objection(loop, "../base/counter.hpp"), "");
    EXPECT_NE(objection(loop, "../proto/char_tables.hpp"), "");
    EXPECT_NE(objection(loop, "proto/char_tables.hpp"), "");
    EXPECT_NE(objection(loop, "wire/proto/url.hpp"), "");
    EXPECT_NE(objection(loop, "char_tables.hpp"), "");
    EXPECT_NE(objection(loop, "loop/engine.hpp"), "");
    EXPECT_NE(objection(loop, "./../proto/char_tables.hpp"), "");
    const source_file header{"include/wire/loop/stream.hpp", "loop", true};
    EXPECT_EQ(objection(header, "wire/loop/detail/nodes.hpp"), "");
    EXPECT_NE(objection(header, "loop/engine.hpp"), "");
    EXPECT_NE(objection(header, "engine.hpp"), "");
    const source_file without_tls{"src/tls_none/contexts.cpp", "tls_none", false};
    EXPECT_EQ(objection(without_tls, "wire/loop/stream_filter.hpp"), "");
    EXPECT_NE(objection(without_tls, "wire/server/server.hpp"), "");
}

// ---- what else a layer may not have ----

TEST(layering, base_knows_only_itself) {
    expect_absent("base", R"(wire/(proto|loop|tls|websocket|server|client)/)");
}
TEST(layering, base_has_no_sockets) { expect_absent("base", system_headers); }
TEST(layering, proto_has_no_sockets_or_clocks) {
    expect_absent("proto", system_headers);
    expect_absent(
        "proto",
        R"(wire/(loop|tls|websocket|server|client)/|#include\s*<(thread|mutex|atomic|random)>|::now\s*\()");
}
TEST(layering, loop_knows_no_protocol) {
    expect_absent("loop", R"(wire/(proto|tls|websocket|server|client)/)");
}
TEST(layering, websocket_knows_neither_server_nor_client) {
    expect_absent("websocket", R"(wire/(tls|server|client)/)");
}
TEST(layering, tls_has_no_sockets) {
    expect_absent(
        "tls",
        R"(wire/(proto|websocket|server|client)/|wire/loop/(stream\.hpp|event_loop|socket|listener)|#include\s*[<"](sys/|unistd|poll))");
}
TEST(layering, server_and_client_know_nothing_of_each_other) {
    expect_absent("server", "wire/client/");
    expect_absent("client", "wire/server/");
}
TEST(layering, no_printing_aborting_or_environment) {
    for (const std::string layer :
         {"base", "proto", "loop", "tls", "websocket", "server", "client"}) {
        expect_absent(layer, R"(\b(printf|fprintf|puts|abort|exit|getenv|cout|cerr|iostream)\b)");
    }
}

// Not a matter of layers, but of looking at sources as well: each bound is reached by some test.
TEST(layering, every_limit_is_named_by_a_test) {
    std::string tests;
    for (const std::string folder : {"src", "tests"}) {
        for (const auto& entry :
             fs::recursive_directory_iterator(fs::path(WIRE_SOURCE_DIR) / folder)) {
            const std::string name = entry.path().filename().string();
            if (!name.ends_with("_test.cpp") && !name.ends_with("abused.hpp")) continue;
            std::ostringstream text;
            text << std::ifstream(entry.path()).rdbuf();
            tests += text.str();
        }
    }
    std::ifstream in(fs::path(WIRE_SOURCE_DIR) / "include/wire/base/limits.hpp");
    const std::regex member(R"(^    std::\S+ (\w+)( =|\{))");
    std::smatch found;
    int members = 0;
    for (std::string line; std::getline(in, line);) {
        if (!std::regex_search(line, found, member)) continue;
        ++members;
        EXPECT_NE(tests.find("." + found[1].str() + " = "), std::string::npos)
            << found[1] << " is set by no test";
    }
    EXPECT_GE(members, 20);
}

}  // namespace layering_test
