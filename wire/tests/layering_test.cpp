// The layers stay apart: proto/ knows no socket, clock, TLS or loop; nothing below knows what is
// above it; the library does not print, abort or read the environment.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

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

}  // namespace
