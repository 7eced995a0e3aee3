// Bodies into files: whole or not at all, and continued where they broke off.
#include "wire/client/download.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "loop_client.hpp"
#include "raw_server.hpp"
#include "scratch_folder.hpp"
#include "served.hpp"

namespace wire::http::download_test {

namespace fs = std::filesystem;
using testing::raw_server;
using testing::served;

struct downloads : testing::loop_client {
    const testing::scratch_folder folder;
    const std::string path = folder.file("got");
    std::vector<std::uint64_t> told;
    std::optional<std::uint64_t> told_whole;

    static void write(const std::string& to, const std::string& content) {
        std::ofstream(to, std::ios::binary | std::ios::trunc) << content;
    }
    static std::string read(const std::string& from) {
        std::ifstream in(from, std::ios::binary);
        if (!in) return "<none>";
        std::ostringstream text;
        text << in.rdbuf();
        return text.str();
    }
    // The names of all files in the folder.
    std::string names() const {
        std::vector<std::string> all;
        for (const auto& e : fs::directory_iterator(fs::path(path).parent_path()))
            all.push_back(e.path().filename().string());
        std::sort(all.begin(), all.end());
        std::string text;
        for (const auto& name : all) text += name + " ";
        return text;
    }
    result<reply> fetch(const std::string& url, download_options how = {}) {
        told.clear();
        told_whole.reset();
        how.progress = [this](std::uint64_t have, std::optional<std::uint64_t> of) {
            told.push_back(have);
            told_whole = of;
        };
        std::optional<result<reply>> got;
        download(c(), make_request(method::get, url), path, how,
                 [&](result<reply> end) { got.emplace(std::move(end)); });
        EXPECT_FALSE(got);
        EXPECT_TRUE(run_until([&] { return got.has_value(); }));
        return *std::move(got);
    }
    // What it says when it is answered so. `asked` is the request.
    std::string answered(const std::string& with, download_options how = {}) {
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            asked = v.request();
            v.send(with);
        });
        const auto got = fetch(raw.url(), how);
        return got ? std::to_string(got->status()) : std::string(to_string(got.code()));
    }
    std::string asked;
};
const download_options resumed{.resume = true};

TEST_F(downloads, are_whole_files) {
    const std::string content(3'000'000, 'x');
    write(folder.file("original"), content);
    served s([&](response res) { res.send_file(folder.file("original")); });
    const std::string url = "http://127.0.0.1:" + std::to_string(s.port()) + "/";
    for (const download_options& how :
         {download_options(), resumed, download_options{.sync = true}}) {
        write(path, "before");
        const auto got = fetch(url, how);
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->status(), 200);
        EXPECT_EQ(got->body(), "");
        EXPECT_TRUE(read(path) == content);
        EXPECT_EQ(names(), "got original ");
        ASSERT_FALSE(told.empty());
        EXPECT_EQ(told.back(), content.size());
        EXPECT_EQ(told_whole, content.size());
    }
}
TEST_F(downloads, may_have_nobody_to_tell) {
    served s([](response res) { res.send("new"); });
    const std::string url = "http://127.0.0.1:" + std::to_string(s.port()) + "/";
    download(c(), make_request(method::get, url), "/nowhere/at/all", {}, {});
    download(c(), make_request(method::get, url), path, {}, {});
    EXPECT_TRUE(run_until([&] { return read(path) == "new"; }));
}
TEST_F(downloads, leave_the_file_before_where_there_is_none) {
    write(path, "before");
    EXPECT_EQ(answered("HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\nsorry"), "404");
    EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"),
              to_string(errc::closed_early));
    EXPECT_EQ(answered("nonsense"), to_string(errc::bad_status_line));
    EXPECT_EQ(
        answered("HTTP/1.1 206 OK\r\nContent-Range: bytes 0-4/9\r\nContent-Length: 5\r\n\r\nhello"),
        to_string(errc::bad_header_value));
    EXPECT_EQ(fetch("nonsense").code(), errc::bad_url);
    EXPECT_EQ(read(path), "before");
    EXPECT_EQ(names(), "got ");
    EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "200");
    EXPECT_EQ(read(path), "");
}
TEST_F(downloads, go_on_where_they_broke_off) {
    EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 9\r\n\r\n12345", resumed),
              to_string(errc::closed_early));
    EXPECT_EQ(asked.find("Range"), std::string::npos);
    EXPECT_EQ(names(), "got.part got.part.etag ");
    EXPECT_EQ(
        answered("HTTP/1.1 206 OK\r\nContent-Range: bytes 5-8/9\r\nContent-Length: 4\r\n\r\n67",
                 resumed),
        to_string(errc::closed_early));
    EXPECT_NE(asked.find("Range: bytes=5-\r\nIf-Range: \"a\"\r\n"), std::string::npos) << asked;
    EXPECT_EQ(
        answered("HTTP/1.1 206 OK\r\nContent-Range: bytes 7-8/9\r\nContent-Length: 2\r\n\r\n89",
                 resumed),
        "206");
    EXPECT_EQ(told, (std::vector<std::uint64_t>{9}));
    EXPECT_EQ(told_whole, 9U);
    EXPECT_EQ(read(path), "123456789");
    EXPECT_EQ(names(), "got ");
}
TEST_F(downloads, begin_anew_where_the_file_has_changed) {
    const std::string broken =
        "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 9\r\n\r\n12345678";
    EXPECT_EQ(answered(broken, resumed), to_string(errc::closed_early));
    EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nETag: W/\"b\"\r\nContent-Length: 9\r\n\r\nabc", resumed),
              to_string(errc::closed_early));
    EXPECT_EQ(read(path + ".part"), "abc");
    // A weak ETag does not say that the bytes are the same.
    EXPECT_EQ(names(), "got.part ");
    EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nxyz", resumed), "200");
    EXPECT_EQ(asked.find("Range"), std::string::npos);
    EXPECT_EQ(read(path), "xyz");

    EXPECT_EQ(answered(broken, resumed), to_string(errc::closed_early));
    EXPECT_EQ(answered("HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n", resumed), "416");
    EXPECT_EQ(answered(broken, resumed), to_string(errc::closed_early));
    EXPECT_EQ(asked.find("Range"), std::string::npos);
    EXPECT_EQ(read(path), "xyz");
}
TEST_F(downloads, believe_only_the_part_that_was_asked_for) {
    EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 9\r\n\r\n12345", resumed),
              to_string(errc::closed_early));
    for (const std::string range :
         {"bytes 4-8/9", "bytes 6-8/9", "bytes 5-8", "bytes 5-4/9", "bytes 5-9/9", "bytes */9",
          "items 5-8/9", "bytes 5-8/9x", "bytes -5-8/9", "bytes 5-99999999999999999999/9", ""})
        EXPECT_EQ(answered("HTTP/1.1 206 OK\r\nContent-Range: " + range +
                               "\r\nContent-Length: 4\r\n\r\n6789",
                           resumed),
                  to_string(errc::bad_header_value))
            << range;
    // More than the part has, and a part that is not the last.
    for (const std::string end :
         {"5-8/9\r\nContent-Length: 5\r\n\r\n6789A", "5-6/9\r\nContent-Length: 2\r\n\r\n67"}) {
        write(path + ".part", "12345");
        EXPECT_EQ(answered("HTTP/1.1 206 OK\r\nContent-Range: bytes " + end, resumed),
                  to_string(errc::closed_early));
    }
    EXPECT_EQ(read(path), "<none>");
    // An ETag that somebody has spoilt is not sent.
    write(path + ".part.etag", "\"a\"\r\nX: y\"");
    EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew", resumed), "200");
    EXPECT_EQ(asked.find("Range"), std::string::npos);
    EXPECT_EQ(read(path), "new");
}
// Some servers do not know If-Range: two files must not become one.
TEST_F(downloads, do_not_go_on_with_another_file) {
    for (const std::string other : {"\"b\"", "W/\"a\""}) {
        EXPECT_EQ(
            answered("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 9\r\n\r\n12345", resumed),
            to_string(errc::closed_early));
        EXPECT_EQ(answered("HTTP/1.1 206 OK\r\nETag: " + other +
                               "\r\nContent-Range: bytes 5-8/9\r\nContent-Length: 4\r\n\r\nWXYZ",
                           resumed),
                  to_string(errc::bad_header_value));
        EXPECT_EQ(read(path), "<none>");
        // The next begins anew.
        EXPECT_EQ(answered("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", resumed), "500");
        EXPECT_EQ(asked.find("Range"), std::string::npos);
    }
    EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 9\r\n\r\n12345", resumed),
              to_string(errc::closed_early));
    EXPECT_EQ(answered("HTTP/1.1 206 OK\r\nETag: \"a\"\r\nContent-Range: bytes 5-8/9\r\n"
                       "Content-Length: 4\r\n\r\n6789",
                       resumed),
              "206");
    EXPECT_EQ(read(path), "123456789");
}
TEST_F(downloads, say_what_cannot_be_written) {
    std::optional<result<reply>> got;
    const auto to = [&](const std::string& where, download_options how = {}) {
        got.reset();
        download(c(), make_request(method::get, "http://127.0.0.1:1/"), where, how,
                 [&](result<reply> end) { got.emplace(std::move(end)); });
        EXPECT_FALSE(got);
        EXPECT_TRUE(run_until([&] { return got.has_value(); }));
        return got->code();
    };
    EXPECT_EQ(to(folder.file("no/such/folder")), errc::system_error);
    EXPECT_NE(got->error().message.find(folder.file("no/such/folder")), std::string::npos);
    EXPECT_EQ(to(path), errc::refused);
    fs::create_symlink(folder.file("elsewhere"), path + ".part");
    EXPECT_EQ(to(path, resumed), errc::system_error);
    fs::remove(path + ".part");
    EXPECT_EQ(names(), "");
    fs::create_directory(path);
    EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew"),
              to_string(errc::system_error));
    EXPECT_EQ(names(), "got ");
}
TEST_F(downloads, may_be_cancelled) {
    std::atomic<bool> release{false};
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12345");
        while (!release) std::this_thread::yield();
    });
    std::optional<result<reply>> got;
    bool some = false;
    download_options how;
    how.progress = [&](std::uint64_t, std::optional<std::uint64_t>) { some = true; };
    const request_id id = download(c(), make_request(method::get, raw.url()), path, how,
                                   [&](result<reply> end) { got.emplace(std::move(end)); });
    EXPECT_TRUE(run_until([&] { return some; }));
    c().cancel(id);
    EXPECT_TRUE(run_until([&] { return got.has_value(); }));
    EXPECT_EQ(got->code(), errc::cancelled);
    EXPECT_EQ(names(), "");
    release = true;
}

}  // namespace wire::http::download_test
