#include "output/result_file.hpp"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace wireload::result_file_test {

// A name in a folder of its own.
struct named {
    std::filesystem::path folder = std::filesystem::path(testing::TempDir()) /
                                   ("wireload_result_file_" + std::to_string(getpid()));
    std::string path = (folder / "result").string();

    named() { std::filesystem::create_directory(folder); }
    ~named() { std::filesystem::remove_all(folder); }
    void has(const std::string& text) const { std::ofstream(path) << text; }
    std::string content() const {
        std::ostringstream out;
        out << std::ifstream(path).rdbuf();
        return out.str();
    }
};

void ready(result_file& file) {
    ASSERT_EQ(file.open(), "");
    ASSERT_EQ(file.empty(), "");
}

TEST(ResultFile, KeepsWhatItHasUntilAllAreOpen) {
    const named one;
    one.has("earlier");
    result_file file("--json", one.path), other("--csv", "/nowhere/x");
    EXPECT_EQ(file.open(), "");
    EXPECT_NE(other.open().find("--csv /nowhere/x: cannot write this file"), std::string::npos);
    EXPECT_EQ(one.content(), "earlier");
    EXPECT_EQ(file.empty(), "");
    EXPECT_EQ(one.content(), "");
    EXPECT_TRUE(file.fill([](std::ostream& out) { out << "later"; }));
    EXPECT_EQ(one.content(), "later");
}

TEST(ResultFile, StandardOutputIsNone) {
    for (const char* path : {"", "-"}) {
        result_file file("--json", path);
        ready(file);
        EXPECT_TRUE(file.fill([](std::ostream&) { ADD_FAILURE(); }));
    }
}

TEST(ResultFile, WhatCannotBeWrittenWholeIsNotThere) {
    const named one;
    result_file file("--json", one.path);
    ready(file);
    EXPECT_FALSE(file.fill([](std::ostream& out) {
        out << std::string(100'000, 'x') << std::flush << "y";
        out.setstate(std::ios::badbit);
    }));
    EXPECT_EQ(one.content(), "");

    result_file again("--json", one.path);
    ready(again);
    EXPECT_THROW(again.fill([](std::ostream& out) {
        out << std::string(100'000, 'x') << std::flush << "y";
        throw std::runtime_error("broken");
    }),
                 std::runtime_error);
    EXPECT_EQ(one.content(), "");
}

TEST(ResultSignals, TheFirstLetsWhatIsWrittenBeFinished) {
    for (const int number : {SIGINT, SIGTERM}) {
        for (const bool before : {false, true}) {  // in the run, which does not read it
            const named one;
            result_file file("--json", one.path);
            ready(file);
            result_signals signals;
            if (before) raise(number);
            signals.run_ended();
            EXPECT_TRUE(file.fill([&](std::ostream& out) {
                out << "begun" << std::flush;
                if (!before) raise(number);
                out << " and finished";
            }));
            EXPECT_EQ(one.content(), "begun and finished");
        }
    }
}

TEST(ResultSignals, AFurtherOneEndsTheProcessAndLeavesAnEmptyFile) {
    const named one;
    const auto write = [&] {
        result_file file("--json", one.path);
        ready(file);
        result_signals signals;
        signals.run_ended();
        (void)file.fill([](std::ostream& out) {
            out << std::string(100'000, 'x') << std::flush << "y";
            while (true) {
                raise(SIGTERM);
                usleep(10'000);
            }
        });
    };
    EXPECT_EXIT(write(), testing::KilledBySignal(SIGTERM), "");
    EXPECT_TRUE(std::filesystem::exists(one.path));
    EXPECT_EQ(one.content(), "");
}

}  // namespace wireload::result_file_test
