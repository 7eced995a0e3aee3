// What other people's programs talk to in wire/tests/peers: a server with the routes that their
// tests need, and a client that makes one request, repeats it and says what came.
//
//     wire_peer server PORT [CERTIFICATE KEY]
//     wire_peer client URL [--method M] [--body N] [--chunked] [--expect] [--repeat N]
//                      [--decompress] [--ca FILE] [--proxy URL] [--tls 1.2|1.3]
//                      [--digest ORIGIN USER PASSWORD]
//
// The client prints one line of JSON. Exit codes: 0 the last reply came whole, 1 an error, 64 wrong
// arguments.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "wire/client/client.hpp"
#include "wire/server/compress.hpp"
#include "wire/server/router.hpp"
#include "wire/server/server.hpp"

namespace {

namespace http = wire::http;
namespace ws = wire::ws;

constexpr std::size_t piece_bytes = 64 << 10;
constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30;

// ---- bytes that both ends can make: byte i is (i * 7 + i / 251) % 256 of its 64 KiB block ----

const std::array<char, piece_bytes>& block() {
    static const auto bytes = [] {
        std::array<char, piece_bytes> made;
        for (std::size_t i = 0; i < made.size(); ++i)
            made[i] = static_cast<char>((i * 7 + i / 251) % 256);
        return made;
    }();
    return bytes;
}

std::string_view piece_at(std::uint64_t at, std::uint64_t end) {
    const std::size_t inside = at % piece_bytes;
    return {block().data() + inside,
            static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes - inside, end - at))};
}

class checksum {
public:
    void add(std::string_view piece) {
        sum_ = crc32(sum_, reinterpret_cast<const Bytef*>(piece.data()),
                     static_cast<uInt>(piece.size()));
        bytes_ += piece.size();
    }
    std::string text() const { return std::to_string(bytes_) + " " + std::to_string(sum_); }

private:
    uLong sum_ = 0;
    std::uint64_t bytes_ = 0;
};

std::uint64_t number(std::string_view text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return std::min(value, most_bytes);
}

// ---- the server ----

struct download {
    http::body_writer out;
    std::uint64_t at = 0;
    std::uint64_t end = 0;

    void go_on() {
        while (at < end) {
            const std::string_view piece = piece_at(at, end);
            at += piece.size();
            if (!out.write(piece)) return;
        }
        out.finish();
    }

    static void start(http::response res, bool known_length) {
        auto self = std::make_shared<download>();
        self->end = number(res.request().param("bytes"));
        res.content_type("text/plain");
        self->out = known_length ? res.start_body(self->end) : res.start_body();
        self->out.on_drained([self] { self->go_on(); });
        self->go_on();
    }
};

struct echo {
    http::body_reader in;
    http::body_writer out;

    static void start(http::response res, http::body_reader in) {
        auto self = std::make_shared<echo>();
        self->in = std::move(in);
        self->out = res.start_body();
        self->out.on_drained([self] { self->in.resume(); });
        self->in.read(
            [self](std::string_view piece) {
                if (!self->out.write(piece)) self->in.pause();
            },
            [self](wire::errc why) {
                if (why == wire::errc::none) self->out.finish();
            });
    }
};

void sum(http::response res, http::body_reader in) {
    auto found = std::make_shared<checksum>();
    in.read([found](std::string_view piece) { found->add(piece); },
            [found, res = std::move(res)](wire::errc why) mutable {
                if (why == wire::errc::none) res.send(found->text());
            });
}

http::router routes() {
    http::router made;
    made.get("/hello", [](http::response res) { res.content_type("text/plain").send("hello\n"); });
    // Which of the peer's connections this is.
    made.get("/peer", [](http::response res) { res.send(res.request().peer().to_string()); });
    made.get("/bytes/{bytes}", [](http::response res) { download::start(std::move(res), true); });
    made.get("/chunks/{bytes}", [](http::response res) { download::start(std::move(res), false); });
    made.post("/whole", [](http::response res) { res.send(std::string(res.request().body())); });
    made.stream(http::method::post, "/echo", echo::start);
    made.stream(http::method::post, "/sum", sum, most_bytes);
    made.stream(http::method::put, "/sum", sum, most_bytes);
    made.websocket("/ws",
                   [](ws::session& s, const http::request&) {
                       s.on_message([](ws::session& s, ws::message m) { s.send(m); });
                   },
                   // The tests' page is at an origin of its own.
                   {.deflate = ws::deflate_options{}, .allowed_origins = {"*"}});
    made.after(http::compress());
    return made;
}

int fail(const wire::error& why) {
    std::fprintf(stderr, "wire_peer: %s\n", why.message.c_str());
    return 1;
}

int serve(int argc, char** argv) {
    http::server_options options;
    options.host = "127.0.0.1";
    if (argc == 5) {
        wire::tls::server_options tls;
        tls.certificates = {{argv[3], argv[4]}};
        auto context = wire::tls::server_context::create(tls);
        if (!context) return fail(context.error());
        options.tls = *std::move(context);
    }
    return fail(http::start_server(static_cast<std::uint16_t>(number(argv[2])), routes(), options));
}

// ---- the client ----

struct asked {
    std::string url, method = "GET";
    std::uint64_t body = 0, repeat = 1;
    bool chunked = false, expect = false;
    http::client_options options;
    wire::tls::client_options tls;
};

// False where an argument is not known.
bool read_arguments(int argc, char** argv, asked& to) {
    to.url = argv[2];
    for (int i = 3; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--chunked") {
            to.chunked = true;
        } else if (name == "--expect") {
            to.expect = true;
        } else if (name == "--decompress") {
            to.options.decompress = true;
        } else if (i + 1 == argc) {
            return false;
        } else if (const std::string value = argv[++i]; name == "--method") {
            to.method = value;
        } else if (name == "--body") {
            to.body = number(value);
        } else if (name == "--repeat") {
            to.repeat = number(value);
        } else if (name == "--ca") {
            to.tls.ca_file = value;
        } else if (name == "--proxy") {
            to.options.proxy = value;
        } else if (name == "--digest" && i + 2 < argc) {
            to.options.digest_logins.push_back({value, argv[i + 1], argv[i + 2]});
            i += 2;
        } else if (name == "--tls") {
            to.tls.min_version = to.tls.max_version =
                value == "1.2" ? wire::tls::version::tls_1_2 : wire::tls::version::tls_1_3;
        } else {
            return false;
        }
    }
    return true;
}

http::client_request request_of(const asked& from) {
    const auto method = from.method == "POST"   ? http::method::post
                        : from.method == "PUT"  ? http::method::put
                        : from.method == "HEAD" ? http::method::head
                                                : http::method::get;
    http::client_request made = http::make_request(method, from.url);
    made.expect_continue = from.expect;
    if (method != http::method::post && method != http::method::put) return made;
    made.headers.emplace_back("Content-Type", "application/octet-stream");
    if (!from.chunked) made.source.length = from.body;
    made.source.pull = [at = std::uint64_t{0}, end = from.body](
                           wire::buffer& out,
                           std::size_t most) mutable -> wire::result<http::source_state> {
        const std::string_view piece = piece_at(at, end).substr(0, most);
        out.append(piece);
        at += piece.size();
        return at == end ? http::source_state::end : http::source_state::more;
    };
    return made;
}

int call(asked from) {
    if (!from.tls.ca_file.empty()) {
        auto context = wire::tls::client_context::create(from.tls);
        if (!context) return fail(context.error());
        from.options.tls = *std::move(context);
    }
    auto client = http::client::create(from.options);
    if (!client) return fail(client.error());
    int status = 0;
    std::size_t redirects = 0;
    bool decoded = false;
    checksum found;
    for (std::uint64_t round = 0; round < from.repeat; ++round) {
        found = {};
        const auto end = client->send(request_of(from), [&](std::string_view piece) {
            found.add(piece);
            return true;
        });
        if (!end) return fail(end.error());
        status = end->status();
        redirects = end->redirects().size();
        decoded = end->decoded();
    }
    std::printf(
        "{\"status\": %d, \"sum\": \"%s\", \"redirects\": %zu, \"decoded\": %s, "
        "\"connections\": %llu}\n",
        status, found.text().c_str(), redirects, decoded ? "true" : "false",
        static_cast<unsigned long long>(client->connections_opened()));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view role = argc >= 3 ? argv[1] : "";
    if (role == "server" && (argc == 3 || argc == 5)) return serve(argc, argv);
    asked from;
    if (role == "client" && read_arguments(argc, argv, from)) return call(std::move(from));
    std::fputs("usage: wire_peer server PORT [CERTIFICATE KEY] | client URL [OPTION...]\n", stderr);
    return 64;
}
