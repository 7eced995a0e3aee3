#include "wire/server/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "raw_peer.hpp"
#include "served.hpp"
#include "wire/server/compress.hpp"

namespace wire::http::files_test {

using namespace std::chrono_literals;
using testing::raw_peer;
using testing::served;

// A directory of its own for each test.
struct file_server : ::testing::Test {
    std::filesystem::path directory;

    file_server() {
        std::string name = "/tmp/wire_files_XXXXXX";
        directory = ::mkdtemp(name.data());
        std::filesystem::create_directories(directory / "root/sub");
        write("root/a.txt", "0123456789");
        write("root/empty", "");
        write("root/sub/index.html", "<p>");
        write("root/with space", "space");
        write("root/.hidden", "hidden");
        write("outside", "secret");
        std::filesystem::create_symlink("a.txt", directory / "root/link");
        std::filesystem::create_symlink("../outside", directory / "root/escape");
        std::filesystem::create_symlink("/etc", directory / "root/etc");
    }
    ~file_server() override { std::filesystem::remove_all(directory); }

    // Modified long ago, so that its tag is strong.
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(directory / name) << text;
        const timespec times[2]{{784111777, 0}, {784111777, 0}};
        EXPECT_EQ(::utimensat(AT_FDCWD, (directory / name).c_str(), times, 0), 0);
    }
    router routes(file_options options = {}) const {
        router r;
        auto files = serve_files((directory / "root").string(), std::move(options));
        EXPECT_TRUE(files) << files.error().message;
        r.get("/s/{path...}", *std::move(files));
        return r;
    }
    static std::string get(const std::string& path, const std::string& fields = "",
                           const std::string& method = "GET") {
        return method + " /s/" + path + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
    }
    static std::string field(const raw_peer& p, const std::string& name) {
        const std::size_t at = p.head_text.find("\r\n" + name + ": ");
        if (at == std::string::npos) return "";
        const std::size_t from = at + name.size() + 4;
        return p.head_text.substr(from, p.head_text.find("\r\n", from) - from);
    }
};

TEST_F(file_server, files_with_their_fields) {
    served s(routes(
        {.parameter = "path", .types = {{"txt", "text/x-own"}}, .cache_control = "max-age=60"}));
    raw_peer p(s.port());
    p.send(get("a.txt") + get("empty") + get("with%20space") + get("link") +
           get("a.txt", "", "HEAD"));
    EXPECT_EQ(p.response(), "200 0123456789");
    EXPECT_EQ(field(p, "Content-Type"), "text/x-own");
    EXPECT_EQ(field(p, "Content-Length"), "10");
    EXPECT_EQ(field(p, "Last-Modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(field(p, "Accept-Ranges"), "bytes");
    EXPECT_EQ(field(p, "Cache-Control"), "max-age=60");
    const std::string etag = field(p, "ETag");
    EXPECT_EQ(etag.substr(0, 3), "\"a-");
    EXPECT_EQ(p.response(), "200 ");
    EXPECT_EQ(field(p, "Content-Type"), "application/octet-stream");
    EXPECT_EQ(p.response(), "200 space");
    EXPECT_EQ(p.response(), "200 0123456789");
    EXPECT_EQ(p.response(method::head), "200 ");
    EXPECT_EQ(field(p, "Content-Length"), "10");
    EXPECT_EQ(field(p, "ETag"), etag);
}
TEST_F(file_server, nothing_but_files_below) {
    ASSERT_EQ(::mkfifo((directory / "root/pipe").c_str(), 0600), 0);
    served s(routes());
    raw_peer p(s.port());
    for (const auto path :
         {"none", "escape", "etc/passwd", "etc", "/etc/passwd", "a.txt/", "a.txt/x",
          "sub//index.html", "/a.txt", ".hidden", "%2ehidden", "pipe", "%252e%252e/outside"}) {
        p.send(get(path));
        EXPECT_EQ(p.response(), "404 Not Found\n") << path;
    }
    for (const auto path :
         {"../outside", "%2e%2e/outside", "..%2foutside", "sub/../../outside", "sub/../a.txt",
          "%2fetc/passwd", "a.txt%00", "./a.txt", "sub/.", "%zz", "a%2", "%"}) {
        raw_peer q(s.port());
        q.send(get(path));
        EXPECT_EQ(q.response(), "(close) 400 malformed request target\n") << path;
    }
    p.send("POST /s/a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(p.response(), "405 Method Not Allowed\n");
}
TEST_F(file_server, refusals_have_the_servers_error_pages) {
    server_options options;
    options.error_pages.set(4, "text/html", "<p>four</p>");
    served s(routes(), options);
    raw_peer p(s.port());
    p.send(get("none"));
    EXPECT_EQ(p.response(), "404 <p>four</p>");
    EXPECT_EQ(field(p, "Content-Type"), "text/html");
    p.send(get("a.txt", "Range: bytes=100-\r\n"));
    EXPECT_EQ(p.response(), "416 <p>four</p>");
    EXPECT_EQ(field(p, "Content-Range"), "bytes */10");
    p.send(get("sub"));
    EXPECT_EQ(p.response(), "308 Permanent Redirect\n");
}
TEST_F(file_server, no_path_leads_around_a_guard) {
    std::filesystem::create_directories(directory / "root/private/in");
    write("root/private/x", "secret");
    write("root/private/in/index.html", "secret");
    write("root/privateer", "ship");
    router r = routes();
    r.before("/s/private", [](response& res) { res.status(401).send("guarded"); });
    served s(std::move(r));
    const auto ask = [&](const std::string& path) {
        raw_peer p(s.port());
        p.send(get(path));
        const std::string said = p.response();
        return said.starts_with("(close) ") ? said.substr(8) : said;
    };
    EXPECT_EQ(ask("privateer"), "200 ship");
    for (const auto path : {"private/x", "%70rivate/x", "privat%65/x", "%70%72%69vate/x", "private",
                            "private/in", "private/in/", "/private/x", "private//x", "private/"})
        EXPECT_EQ(ask(path), "401 guarded") << path;
    for (const auto path :
         {"private%2fx", "private%2Fx", "./private/x", "%2e/private/x", "sub/../private/x",
          "sub/%2e%2e/private/x", "private/x%00", "%2fprivate/x"})
        EXPECT_EQ(ask(path), "400 malformed request target\n") << path;
    for (const auto path : {"private%5Cx", "Private/x", "%2570rivate/x", "private%252fx"})
        EXPECT_EQ(ask(path), "404 Not Found\n") << path;
}
TEST_F(file_server, a_directory_with_any_name_is_redirected_to) {
    std::filesystem::create_directories(directory / "root/a b\n%3f");
    served s(routes());
    raw_peer p(s.port());
    p.send(get("a%20b%0a%253f?x"));
    EXPECT_EQ(p.response().substr(0, 3), "308");
    EXPECT_EQ(field(p, "Location"), "/s/a%20b%0A%253f/?x");
}
TEST_F(file_server, directories) {
    served s(routes());
    raw_peer p(s.port());
    p.send(get("sub/") + get("sub") + get("sub?a=b") + get(""));
    EXPECT_EQ(p.response(), "200 <p>");
    EXPECT_EQ(field(p, "Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(p.response().substr(0, 3), "308");
    EXPECT_EQ(field(p, "Location"), "/s/sub/");
    EXPECT_EQ(p.response().substr(0, 3), "308");
    EXPECT_EQ(field(p, "Location"), "/s/sub/?a=b");
    EXPECT_EQ(p.response(), "404 Not Found\n");  // no index.html there
    served without(routes({.parameter = "path", .index = ""}));
    raw_peer q(without.port());
    q.send(get("sub/") + get("sub"));
    EXPECT_EQ(q.response(), "404 Not Found\n");
    EXPECT_EQ(q.response(), "404 Not Found\n");
}
TEST_F(file_server, as_the_only_handler_it_takes_the_whole_path) {
    served s(*serve_files((directory / "root").string()));
    raw_peer p(s.port());
    p.send(
        "GET /a.txt?x HTTP/1.1\r\nHost: a\r\n\r\nGET //sub HTTP/1.1\r\nHost: a\r\n\r\nPUT /a.txt "
        "HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(p.response(), "200 0123456789");
    EXPECT_EQ(p.response(), "404 Not Found\n");
    EXPECT_EQ(p.response(), "405 Method Not Allowed\n");
    EXPECT_EQ(field(p, "Allow"), "GET, HEAD");
}
TEST_F(file_server, a_304_has_the_fields_of_its_200_behind_compress) {
    router r = routes();
    r.after(compress({.min_bytes = 1}));
    served s(std::move(r));
    raw_peer p(s.port());
    const std::string accept = "Accept-Encoding: gzip\r\n";
    p.send(get("a.txt", accept));
    EXPECT_EQ(p.response(), "200 0123456789");
    const std::string etag = field(p, "ETag");
    EXPECT_EQ(field(p, "Vary"), "");
    p.send(get("a.txt", accept + "If-None-Match: " + etag + "\r\n"));
    EXPECT_EQ(p.response(), "304 ");
    EXPECT_EQ(field(p, "ETag"), etag);
    EXPECT_EQ(field(p, "Vary"), "");
}
TEST_F(file_server, conditions) {
    served s(routes());
    raw_peer p(s.port());
    p.send(get("a.txt"));
    p.response();
    const std::string etag = field(p, "ETag");
    p.send(get("a.txt", "If-None-Match: " + etag + "\r\n") +
           get("a.txt", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "HEAD") +
           get("a.txt", "If-Match: \"other\"\r\n") + get("a.txt", "If-None-Match: \"other\"\r\n"));
    EXPECT_EQ(p.response(), "304 ");
    EXPECT_EQ(field(p, "ETag"), etag);
    EXPECT_EQ(p.response(method::head), "304 ");
    EXPECT_EQ(p.response(), "412 Precondition Failed\n");
    EXPECT_EQ(p.response(), "200 0123456789");
    std::ofstream(directory / "root/new") << "new";
    p.send(get("new"));
    EXPECT_EQ(p.response(), "200 new");
    EXPECT_EQ(field(p, "ETag").substr(0, 3), "W/\"");
}
TEST_F(file_server, dates_in_the_future) {
    const std::string far = "Thu, 31 Dec 2099 23:59:59 GMT\r\n";
    // Of a clock that was wrong; later than `far`.
    std::ofstream(directory / "root/ahead") << "ahead";
    const timespec times[2]{{5'000'000'000, 0}, {5'000'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (directory / "root/ahead").c_str(), times, 0), 0);
    served s(routes());
    raw_peer p(s.port());
    for (const std::string name : {"a.txt", "ahead"}) {
        p.send(get(name));
        const std::string whole = p.response();
        p.send(get(name, "If-Unmodified-Since: " + far) + get(name, "If-Modified-Since: " + far) +
               get(name, "If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n") +
               get(name, "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n"));
        EXPECT_EQ(p.response(), whole) << name;
        EXPECT_EQ(p.response(), "304 ") << name;
        EXPECT_EQ(p.response(), whole) << name;
        EXPECT_EQ(p.response(), "412 Precondition Failed\n") << name;
    }
}
TEST_F(file_server, ranges) {
    served s(routes());
    raw_peer p(s.port());
    p.send(get("a.txt", "Range: bytes=2-4\r\n") +
           get("a.txt", "Range: bytes=-1\r\nIf-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n") +
           get("a.txt", "Range: bytes=-1\r\nIf-Range: \"old\"\r\n") +
           get("a.txt", "Range: bytes=10-\r\n") + get("a.txt", "Range: bytes=2-4\r\n", "HEAD"));
    EXPECT_EQ(p.response(), "206 234");
    EXPECT_EQ(field(p, "Content-Range"), "bytes 2-4/10");
    EXPECT_EQ(p.response(), "206 9");
    EXPECT_EQ(p.response(), "200 0123456789");
    EXPECT_EQ(p.response().substr(0, 3), "416");
    EXPECT_EQ(field(p, "Content-Range"), "bytes */10");
    EXPECT_EQ(p.response(method::head), "200 ");
    p.send(get("empty", "Range: bytes=-5\r\n") + get("empty", "Range: bytes=0-\r\n"));
    EXPECT_EQ(p.response(), "200 ");
    EXPECT_EQ(field(p, "Content-Range"), "");
    EXPECT_EQ(p.response().substr(0, 3), "416");
    EXPECT_EQ(field(p, "Content-Range"), "bytes */0");
    // The first and the last bytes of a file that is smaller than the client thinks.
    p.send(get("a.txt", "Range: bytes=0-1023,-1024\r\n"));
    EXPECT_EQ(p.response(), "200 0123456789");
    p.send(get("a.txt", "Range: bytes=7-,0-1\r\n"));
    const std::string got = p.response();
    const std::string type = field(p, "Content-Type");
    ASSERT_EQ(type.substr(0, 31), "multipart/byteranges; boundary=");
    const std::string line = "--" + type.substr(31);
    EXPECT_EQ(got, "206 " + line +
                       "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes "
                       "7-9/10\r\n\r\n789\r\n" +
                       line +
                       "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes "
                       "0-1/10\r\n\r\n01\r\n" +
                       line + "--\r\n");
}
TEST_F(file_server, precompressed) {
    write("root/a.txt.gz", "packed");
    served s(routes({.parameter = "path", .precompressed = true}));
    raw_peer p(s.port());
    for (const auto accept : {"gzip", "br, GZIP;q=0.5", "deflate,gzip"}) {
        p.send(get("a.txt", "Accept-Encoding: " + std::string(accept) + "\r\n"));
        EXPECT_EQ(p.response(), "200 packed") << accept;
        EXPECT_EQ(field(p, "Content-Encoding"), "gzip");
        EXPECT_EQ(field(p, "Content-Type"), "text/plain; charset=utf-8");
        EXPECT_EQ(field(p, "Vary"), "Accept-Encoding");
    }
    for (const auto accept : {"", "br", "gzip;q=0", "gzip; q=0.000", "identity"}) {
        p.send(get("a.txt", "Accept-Encoding: " + std::string(accept) + "\r\n"));
        EXPECT_EQ(p.response(), "200 0123456789") << accept;
        EXPECT_EQ(field(p, "Content-Encoding"), "");
        EXPECT_EQ(field(p, "Vary"), "Accept-Encoding");
    }
    p.send(get("with%20space", "Accept-Encoding: gzip\r\n"));
    EXPECT_EQ(p.response(), "200 space");
    // What refuses the file is plain text.
    for (const auto& [fields, status] :
         {std::pair{"Range: bytes=999-\r\n", "416"}, std::pair{"If-Match: \"x\"\r\n", "412"}}) {
        p.send(get("a.txt", "Accept-Encoding: gzip\r\n" + std::string(fields)));
        EXPECT_EQ(p.response().substr(0, 3), status);
        EXPECT_EQ(field(p, "Content-Encoding"), "");
    }
}
TEST_F(file_server, precompressed_in_several_codings) {
    write("root/a.txt.gz", "gzipped");
    write("root/a.txt.br", "brotli");
    write("root/a.txt.zst", "zstandard");
    write("root/empty.zst", "z");
    std::filesystem::create_symlink("../outside", directory / "root/sub/index.html.br");
    served s(routes({.parameter = "path", .precompressed = true}));
    raw_peer p(s.port());
    const auto ask = [&](const std::string& name, const std::string& accept) {
        p.send(get(name, "Accept-Encoding: " + accept + "\r\n"));
        const std::string body = p.response();
        return body.substr(4) + " " + field(p, "Content-Encoding");
    };
    EXPECT_EQ(ask("a.txt", "gzip, deflate, br, zstd"), "brotli br");
    EXPECT_EQ(field(p, "Content-Type"), "text/plain; charset=utf-8");
    EXPECT_EQ(field(p, "Vary"), "Accept-Encoding");
    EXPECT_EQ(ask("a.txt", "gzip, zstd"), "zstandard zstd");
    EXPECT_EQ(ask("a.txt", "gzip, zstd;q=0.5, br;q=0.1"), "gzipped gzip");
    EXPECT_EQ(ask("a.txt", "br;q=0.5, identity"), "0123456789 ");
    EXPECT_EQ(ask("empty", "br, gzip, zstd;q=0.1"), "z zstd");
    EXPECT_EQ(ask("sub/", "br"), "<p> ");  // it leads outside
}
TEST_F(file_server, large_ones_to_a_slow_reader) {
    std::string large(20'000'000, 'x');
    for (std::size_t i = 0; i < large.size(); i += 997) large[i] = static_cast<char>('a' + i % 26);
    write("root/large", large);
    served s(routes());
    raw_peer p(s.port());
    p.send(get("large") + get("large", "Range: bytes=100000-15000000,16000000-\r\n") +
           get("a.txt"));
    std::this_thread::sleep_for(20ms);
    EXPECT_TRUE(p.response() == "200 " + large);
    const std::string parts = p.response();
    EXPECT_NE(parts.find(large.substr(16'000'000)), std::string::npos);
    EXPECT_NE(parts.find(large.substr(100'000, 14'900'001)), std::string::npos);
    EXPECT_EQ(p.response(), "200 0123456789");
}
TEST_F(file_server, one_that_shrinks_ends_the_connection) {
    write("root/large", std::string(50'000'000, 'x'));
    served s(routes());
    raw_peer p(s.port());
    p.send(get("large") + get("a.txt"));
    EXPECT_EQ(p.exactly(15), "HTTP/1.1 200 OK");
    std::filesystem::resize_file(directory / "root/large", 1'000);
    const std::string all = p.rest();
    EXPECT_LT(all.size(), 50'000'000U);
    EXPECT_EQ(all.find("0123456789"), std::string::npos);
}
TEST_F(file_server, a_peer_that_goes_away_harms_nobody) {
    write("root/large", std::string(30'000'000, 'x'));
    server_options options;
    options.limits.write_timeout = 100ms;
    served s(routes(), options);
    for (int i = 0; i < 3; ++i) {
        raw_peer p(s.port());
        p.send(get("large"));
        p.exactly(100'000);
        if (i == 0) std::this_thread::sleep_for(300ms);  // it is given up
    }
    raw_peer p(s.port());
    p.send(get("a.txt"));
    EXPECT_EQ(p.response(), "200 0123456789");
}
TEST_F(file_server, says_why_it_cannot_serve) {
    const auto files = serve_files((directory / "nowhere").string());
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().message, "cannot serve files of " + (directory / "nowhere").string() +
                                         ": No such file or directory");
    EXPECT_FALSE(serve_files((directory / "outside").string()));
    EXPECT_EQ(
        serve_files((directory / "root").string(), {.parameter = "path", .types = {{"x", "a\nb"}}})
            .code(),
        errc::bad_argument);
}

}  // namespace wire::http::files_test
