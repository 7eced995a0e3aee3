// wire_peer's server: its routes, and the ways in which it gets its sockets.
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "peer.hpp"
#include "wire/loop/inherited_sockets.hpp"
#include "wire/server/compress.hpp"
#include "wire/server/event_writer.hpp"
#include "wire/server/router.hpp"
#include "wire/server/server.hpp"

namespace wire_peer {
namespace {

namespace http = wire::http;
namespace ws = wire::ws;

// ---- routes ----

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
    http::response res;
    http::body_reader in;
    http::body_writer out;

    static void start(http::response res, http::body_reader in) {
        auto self = std::make_shared<echo>(echo{std::move(res), std::move(in), {}});
        self->in.read(
            [self](std::string_view piece) {
                if (!answer(self).write(piece)) self->in.pause();
            },
            [self](wire::errc why) {
                if (why == wire::errc::none) answer(self).finish();
            });
    }

    static http::body_writer& answer(const std::shared_ptr<echo>& self) {
        if (self->res) {
            self->out = self->res.start_body();
            self->out.on_drained([self] { self->in.resume(); });
        }
        return self->out;
    }
};

void sum(http::response res, http::body_reader in) {
    auto found = std::make_shared<checksum>();
    in.read([found](std::string_view piece) { found->add(piece); },
            [found, res = std::move(res)](wire::errc why) mutable {
                if (why == wire::errc::none) res.send(found->text());
            });
}

// Three events behind the last that the client got, then the end; from the ninth on it is told to
// stay away.
void events(http::response res) {
    std::uint64_t last = number(http::last_event_id(res.request()).value_or("0"));
    if (last >= 9) return res.status(204).send();
    http::event_writer out(std::move(res));
    for (int i = 0; i < 3; ++i) {
        const std::string id = std::to_string(++last);
        out.send({.data = "event\n" + id, .id = id, .retry = std::chrono::milliseconds(10)});
    }
    out.finish();
}

void hints_and_trailers(http::response res) {
    res.early_hints({{"Link", "</style.css>; rel=preload; as=style"}});
    res.header("Trailer", "X-Checksum");
    http::body_writer out = res.start_body();
    checksum found;
    for (const std::string_view piece : {"hello ", "trailers\n"}) {
        found.add(piece);
        out.write(piece);
    }
    out.trailer("X-Checksum", found.text());
    out.finish();
}

void greet(ws::session& s, const http::request&) {
    s.send(s.protocol().empty() ? "no subprotocol" : s.protocol());
}

http::router routes() {
    http::router made;
    const std::vector<std::string> graphql = {"graphql-transport-ws", "graphql-ws"};
    made.websocket("/graphql", greet, {.protocols = graphql});
    made.websocket("/graphql/only", greet, {.protocols = graphql, .require_protocol = true});
    made.get("/events", events);
    made.get("/hints", hints_and_trailers);
    made.get("/process", [](http::response res) { res.send(std::to_string(::getpid()) + "\n"); });
    // The client, and the balancer that named it.
    made.get("/client", [](http::response res) {
        const wire::address* const by = res.request().proxied_by();
        res.send(res.request().client_address().to_string() + " by " +
                 (by != nullptr ? by->host() : "nobody"));
    });
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

// ---- sockets ----

// Starts this program again with the listening sockets. Whether it serves.
bool start_successor(const std::vector<wire::unique_fd>& sockets) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    const wire::unique_fd ready(ends[0]);
    wire::unique_fd says(ends[1]);
    std::vector<std::string> words = {"wire_peer", "successor", std::to_string(says.get())};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, says.get(), says.get());  // not closed by exec
    for (const wire::unique_fd& one : sockets) {
        ::posix_spawn_file_actions_adddup2(&actions, one.get(), one.get());
        words.push_back(std::to_string(one.get()));
    }
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    const int failed =
        ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    says.reset();
    char byte = 0;
    return failed == 0 && ::read(ready.get(), &byte, 1) == 1;
}

// Serves until SIGUSR2 has come and a successor has taken over; `ready`, if any, is written to as
// soon as connections are accepted.
int run(wire::result<http::server> made, wire::unique_fd ready = {}) {
    if (!made) return fail(made.error());
    sigset_t waited;
    ::sigemptyset(&waited);
    ::sigaddset(&waited, SIGUSR2);
    ::pthread_sigmask(SIG_BLOCK, &waited, nullptr);
    std::thread replacing([&] {
        for (int came = 0;;) {
            ::sigwait(&waited, &came);
            const auto sockets = made->hand_over();
            if (sockets && start_successor(*sockets)) break;
        }
        made->stop();
    });
    // From now on the kernel queues connections, and the loop is about to accept them.
    if (ready && ::write(ready.get(), "r", 1) != 1) std::perror("wire_peer");
    made->run();
    replacing.join();
    return 0;
}

int be_activated() {
    const char* const pid = std::getenv("LISTEN_PID");
    const char* const count = std::getenv("LISTEN_FDS");
    auto sockets = wire::listen_fds(pid != nullptr ? pid : "", count != nullptr ? count : "");
    if (!sockets) return fail(sockets.error());
    return run(http::server::listen(*std::move(sockets), routes()));
}

int succeed(int argc, char** argv) {
    wire::unique_fd ready(static_cast<int>(number(argv[2])));
    ::fcntl(ready.get(), F_SETFD, FD_CLOEXEC);
    std::vector<wire::unique_fd> sockets;
    for (int i = 3; i < argc; ++i) sockets.emplace_back(static_cast<int>(number(argv[i])));
    return run(http::server::listen(std::move(sockets), routes()), std::move(ready));
}

}  // namespace

int serve(int argc, char** argv) {
    const std::string_view role = argv[1];
    if (role == "activated") return be_activated();
    if (argc < 3) return 64;
    if (role == "successor") return succeed(argc, argv);
    http::server_options options;
    options.host = "127.0.0.1";
    for (int i = 3; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--proxied") {
            options.proxy_protocol = http::proxy_protocol::required;
            options.trusted_proxies = {*wire::network::parse("127.0.0.1")};
        } else if (name == "--unix" && i + 1 < argc) {
            options.unix_socket = argv[++i];
        } else if (name == "--tls" && i + 2 < argc) {
            wire::tls::server_options tls;
            tls.certificates = {{argv[i + 1], argv[i + 2]}};
            i += 2;
            if (i + 2 < argc && std::string_view(argv[i + 1]) == "--ocsp") {
                tls.certificates[0].ocsp_response_file = argv[i + 2];
                i += 2;
            }
            auto context = wire::tls::server_context::create(tls);
            if (!context) return fail(context.error());
            options.tls = *std::move(context);
        } else {
            return 64;
        }
    }
    const auto port = static_cast<std::uint16_t>(number(argv[2]));
    return run(http::server::listen(port, routes(), std::move(options)));
}

}  // namespace wire_peer
