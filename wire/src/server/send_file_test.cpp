#include "wire/server/send_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"

namespace wire::http::send_file_test {

using testing::get;
using testing::post;
using testing::raw_peer;
using testing::served;

// What the handler answers, its head below it.
std::string answer(handler h, const std::string& request, bool with_head = false) {
    served s(std::move(h));
    raw_peer p(s.port());
    p.send(request);
    const std::string text = p.response(request.starts_with("HEAD") ? method::head : method::get);
    return with_head ? text + "\n" + p.head_text : text;
}
bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

class send_file : public ::testing::Test {
protected:
    send_file() {
        folder_ = std::filesystem::temp_directory_path() /
                  ("wire_send_file_" + std::to_string(::getpid()));
        std::filesystem::create_directory(folder_);
        write("page.html", "0123456789");
    }
    ~send_file() override { std::filesystem::remove_all(folder_); }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
        // Long enough ago for a strong ETag.
        std::filesystem::last_write_time(
            folder_ / name, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    handler sending(const std::string& name, send_file_options options = {}, int status = 200) {
        return [=, this](response res) { res.status(status).send_file(path(name), options); };
    }

    std::filesystem::path folder_;
};

TEST_F(send_file, sends_the_whole_of_it_with_its_type) {
    const std::string whole = answer(sending("page.html"), get("/"), true);
    EXPECT_EQ(whole.substr(0, 15), "200 0123456789\n");
    EXPECT_TRUE(has(whole, "Content-Type: text/html; charset=utf-8\r\n")) << whole;
    EXPECT_TRUE(has(whole, "Accept-Ranges: bytes\r\n")) << whole;
    EXPECT_TRUE(has(whole, "ETag: \"")) << whole;
    EXPECT_TRUE(has(whole, "Last-Modified: ")) << whole;
    const std::string head =
        answer(sending("page.html"), "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", true);
    EXPECT_EQ(head.substr(0, 5), "200 \n");
    EXPECT_TRUE(has(head, "Content-Length: 10\r\n")) << head;
}
TEST_F(send_file, answers_ranges_and_conditions) {
    EXPECT_EQ(answer(sending("page.html"), get("/", "Range: bytes=2-4\r\n")), "206 234");
    EXPECT_EQ(answer(sending("page.html"), get("/", "Range: bytes=20-\r\n")).substr(0, 3), "416");
    EXPECT_EQ(answer(sending("page.html"), get("/", "If-None-Match: *\r\n")), "304 ");
    EXPECT_EQ(answer(sending("page.html"), get("/", "If-Match: \"x\"\r\n")).substr(0, 3), "412");
}
TEST_F(send_file, has_one_validator_and_refuses_without_the_file_s_fields) {
    const auto own = [this](response res) {
        res.header("ETag", "\"own\"").send_file(path("page.html"), {.download_as = "a"});
    };
    const std::string whole = answer(own, get("/"), true);
    EXPECT_FALSE(has(whole, "\"own\"")) << whole;
    const std::string refused = answer(own, get("/", "Range: bytes=20-\r\n"), true);
    EXPECT_TRUE(has(refused, "Content-Range: bytes */10\r\n")) << refused;
    EXPECT_FALSE(has(refused, "Content-Disposition")) << refused;
}
TEST_F(send_file, is_whole_for_other_methods_and_statuses) {
    const std::string fields = "Range: bytes=2-4\r\nIf-None-Match: *\r\n";
    EXPECT_EQ(answer(sending("page.html"), post("/", "x", fields)), "200 0123456789");
    const std::string missing = answer(sending("page.html", {}, 404), get("/", fields), true);
    EXPECT_EQ(missing.substr(0, 15), "404 0123456789\n");
    EXPECT_FALSE(has(missing, "ETag")) << missing;
}
TEST_F(send_file, takes_type_cache_control_and_a_name_to_store_it_by) {
    const std::string said = answer(sending("page.html", {.content_type = "text/x",
                                                          .cache_control = "no-store",
                                                          .download_as = "caf\xC3\xA9 \"1\".html"}),
                                    get("/"), true);
    EXPECT_TRUE(has(said, "Content-Type: text/x\r\n")) << said;
    EXPECT_TRUE(has(said, "Cache-Control: no-store\r\n")) << said;
    EXPECT_TRUE(has(said,
                    "Content-Disposition: attachment; filename=\"caf__ _1_.html\"; "
                    "filename*=UTF-8''caf%C3%A9%20%221%22.html\r\n"))
        << said;
    const std::string set =
        answer([this](response res) { res.content_type("text/y").send_file(path("page.html")); },
               get("/"), true);
    EXPECT_TRUE(has(set, "Content-Type: text/y\r\n")) << set;
    EXPECT_FALSE(has(set, "text/html")) << set;
    for (const send_file_options& bad :
         {send_file_options{.content_type = "a\r\nB: c"}, {.cache_control = "a\r\nB: c"}}) {
        EXPECT_EQ(answer(sending("page.html", bad), get("/")).substr(0, 3), "500");
    }
}
TEST_F(send_file, nothing_comes_into_the_middle_of_it) {
    const std::string large = testing::patterned(32 << 20);
    write("large", large);
    router r;
    r.stream(method::put, "/", [this](response res, body_reader in) {
        res.send_file(path("large"));
        in.read([](std::string_view) {}, [](errc) {});  // too late for 100 (Continue)
    });
    served s(std::move(r));
    raw_peer p(s.port());
    p.send("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    EXPECT_TRUE(p.response() == "(close) 200 " + large);
}
TEST_F(send_file, answers_404_for_what_is_no_file) {
    EXPECT_EQ(answer(sending("none"), get("/")), "404 Not Found\n");
    EXPECT_EQ(answer(sending("."), get("/")), "404 Not Found\n");
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    EXPECT_EQ(answer(sending("pipe"), get("/")), "404 Not Found\n");
}

}  // namespace wire::http::send_file_test
