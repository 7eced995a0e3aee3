// Files that are sent, once and again.
#include "wire/client/file_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "loop_client.hpp"
#include "scratch_folder.hpp"
#include "served.hpp"

namespace wire::http::file_source_test {

using testing::served;

struct file_sources : testing::loop_client {
    const testing::scratch_folder folder;
    const std::string path = folder.file("sent");
    std::vector<std::uint64_t> told;

    void write(const std::string& content) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    }
    static http::server_options roomy() {
        http::server_options o;
        o.limits.max_body_bytes = 64 << 20;
        return o;
    }
    // Puts the file; what comes of it.
    result<reply> put(const std::string& url, bool can_rewind = true) {
        auto source = file_source(path, [this](std::uint64_t taken, std::uint64_t of) {
            EXPECT_LE(taken, of);
            told.push_back(taken);
        });
        if (!source) return source.error();
        if (!can_rewind) source->rewind = nullptr;
        auto r = make_request(method::put, url);
        r.source = *std::move(source);
        std::optional<result<reply>> got;
        c().send(std::move(r), [&](result<reply> end) { got.emplace(std::move(end)); });
        EXPECT_TRUE(run_until([&] { return got.has_value(); }));
        return *std::move(got);
    }
};
std::string root(const served& s) { return "http://127.0.0.1:" + std::to_string(s.port()); }
// The body's length as announced, and whether all of it is as it was written.
void measure(response res) {
    const request& r = res.request();
    res.send(std::string(r.header("content-length").value_or("chunked")) + " " +
             std::to_string(std::count(r.body().begin(), r.body().end(), 'x')));
}

TEST_F(file_sources, arrive_whole_and_tell_how_far_they_are) {
    served s(measure, roomy());
    for (const std::size_t size : {0UL, 1UL, 65'536UL, 1'000'000UL, 20'000'000UL}) {
        write(std::string(size, 'x'));
        told.clear();
        const auto got = put(root(s));
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->body(), std::to_string(size) + " " + std::to_string(size));
        EXPECT_EQ(told.empty() ? 0 : told.back(), size);
        EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    }
    EXPECT_EQ(c().connections_opened(), 1U);
}
TEST_F(file_sources, are_sent_again_from_the_beginning) {
    std::atomic<int> asked{0};
    served s(
        [&](response res) {
            const bool first = ++asked % 2 == 1;
            if (first && res.request().path() == "/busy") return res.status(503).send();
            if (first && res.request().path() == "/moved")
                return res.status(307).header("Location", "/there").send();
            measure(std::move(res));
        },
        roomy());
    options.retry.max_retries = 1;
    options.retry.first_pause = std::chrono::milliseconds(1);
    write(std::string(300'000, 'x'));
    for (const std::string target : {"/busy", "/moved"}) {
        told.clear();
        const auto got = put(root(s) + target);
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->body(), "300000 300000");
        EXPECT_FALSE(std::is_sorted(told.begin(), told.end()));
        // A source without `rewind` is asked only once.
        const auto once = put(root(s) + target, false);
        ASSERT_TRUE(once);
        EXPECT_EQ(once->status(), target == "/busy" ? 503 : 307);
        ++asked;
    }
}
TEST_F(file_sources, refuse_what_is_no_file_or_becomes_shorter) {
    served s(measure, roomy());
    EXPECT_EQ(file_source(folder.file("none")).code(), errc::system_error);
    EXPECT_EQ(file_source(folder.file(".")).code(), errc::system_error);
    EXPECT_EQ(file_source("/dev/zero").code(), errc::system_error);
    write(std::string(5'000'000, 'x'));
    auto source = *file_source(path);
    std::filesystem::resize_file(path, 10);
    auto r = make_request(method::put, root(s));
    r.source = std::move(source);
    std::optional<result<reply>> got;
    c().send(std::move(r), [&](result<reply> end) { got.emplace(std::move(end)); });
    ASSERT_TRUE(run_until([&] { return got.has_value(); }));
    EXPECT_EQ(got->code(), errc::system_error);
    EXPECT_NE(got->error().message.find(path + ": has become shorter"), std::string::npos)
        << got->error().message;
}

}  // namespace wire::http::file_source_test
