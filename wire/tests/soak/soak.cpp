// Hours of mixed load on a server by wire's own clients and by peers that leave at any point, in
// one process: every reply is checked, and memory may not grow.
//
//     wire_soak --minutes 60 [--engine epoll|io_uring] [--seed N] [--workers N]
//
// Prints a line a minute (every five seconds in short runs), then what was done. Exit code 0: all
// right; 1: a wrong reply, or growth: the most memory resident in the last quarter of the time
// exceeds the most of the second quarter by more than 5% and 8 MiB. The first quarter is warm-up:
// pools and the heap find their size. 64: wrong usage.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#ifdef WIRE_SOAK_TLS
#include "certificates.hpp"
#endif
#include "raw_peer.hpp"
#include "wire/client/client.hpp"
#include "wire/client/websocket.hpp"
#include "wire/proto/ws_frame.hpp"
#include "wire/server/router.hpp"
#include "wire/server/server.hpp"

namespace {

using namespace std::chrono_literals;
using wire::testing::raw_peer;
using clock = std::chrono::steady_clock;
namespace http = wire::http;
namespace ws = wire::ws;

constexpr std::size_t largest = 512 * 1024;

// What the server answers to /bytes/N.
std::string_view pattern(std::size_t n) {
    static const std::string all = [] {
        std::string s(largest, ' ');
        for (std::size_t i = 0; i < s.size(); ++i) s[i] = static_cast<char>('a' + i % 26);
        return s;
    }();
    return std::string_view(all).substr(0, n);
}

http::router make_routes() {
    http::router routes;
    routes.get("/bytes/{n}", [](http::response res) {
        const std::string_view text = res.request().param("n");
        std::size_t n = 0;
        std::from_chars(text.data(), text.data() + text.size(), n);
        res.send(std::string(pattern(std::min(n, largest))));
    });
    routes.post("/echo", [](http::response res) { res.send(std::string(res.request().body())); });
    routes.websocket("/echo", [](ws::session& s, const http::request&) {
        s.on_message([](ws::session& from, ws::message m) { from.send(m); });
    });
    return routes;
}

enum kind : std::size_t {
    get,
    post,
    pipelined,
    websocket,
    get_tls,
    websocket_tls,
    left_early,
    kinds
};
constexpr std::array<std::string_view, kinds> names{
    "GET", "POST", "pipelined", "WebSocket", "GET over TLS", "WebSocket over TLS", "left early"};

// What all workers share.
struct soak {
    std::uint16_t port = 0;
    std::uint16_t tls_port = 0;  // 0: no TLS here
    std::shared_ptr<wire::tls::client_context> trusting;
    std::atomic<bool> over{false};
    std::array<std::atomic<std::uint64_t>, kinds> done{};
    std::atomic<std::uint64_t> wrong{0};

    void is(kind what, bool right, const std::string& why = {}) {
        ++done[what];
        if (right) return;
        if (++wrong <= 20)
            std::fprintf(stderr, "wrong: %s: %s\n", names[what].data(), why.substr(0, 200).c_str());
    }
};

class worker {
public:
    worker(soak& all, std::uint64_t seed) : all_(all), random_(seed) {}

    void run() {
        while (!all_.over) {
            const auto what = static_cast<kind>(random_() % kinds);
            switch (what) {
            case get: fetch(get, "http", all_.port); break;
            case post: echo(); break;
            case pipelined: pipeline(); break;
            case websocket: talk(websocket, "ws", all_.port); break;
            case get_tls:
                if (all_.tls_port != 0) fetch(get_tls, "https", all_.tls_port);
                break;
            case websocket_tls:
                if (all_.tls_port != 0) talk(websocket_tls, "wss", all_.tls_port);
                break;
            default: leave_early(); break;
            }
        }
    }

private:
    bool chance(unsigned one_in) { return random_() % one_in == 0; }
    // Small ones most often, and now and then as large as can be.
    std::size_t some_size() { return random_() % (std::size_t{1} << random_() % 20) % largest; }
    std::string url(std::string_view scheme, std::uint16_t port, const std::string& path) {
        return std::string(scheme) + "://localhost:" + std::to_string(port) + path;
    }

    http::client& client() {
        if (chance(50)) client_.reset();  // with its kept connections
        if (!client_) {
            http::client_options options;
            options.tls = all_.trusting;
            client_.emplace(*http::client::create(std::move(options)));
        }
        return *client_;
    }
    void fetch(kind what, std::string_view scheme, std::uint16_t port) {
        for (auto n = random_() % 20; n > 0; --n) {
            const std::size_t size = some_size();
            const auto r = client().get(url(scheme, port, "/bytes/" + std::to_string(size)));
            all_.is(what, r && r->status() == 200 && r->body() == pattern(size),
                    r ? std::string(r->body()) : r.error().message);
        }
    }
    void echo() {
        const std::size_t size = some_size();
        const auto r = client().post(url("http", all_.port, "/echo"), std::string(pattern(size)));
        all_.is(post, r && r->body() == pattern(size),
                r ? std::string(r->body()) : r.error().message);
    }
    std::string request(std::size_t size, std::string_view fields = {}) {
        return "GET /bytes/" + std::to_string(size) + " HTTP/1.1\r\nHost: soak\r\n" +
               std::string(fields) + "\r\n";
    }
    void pipeline() {
        std::vector<std::size_t> sizes(1 + random_() % 30);
        std::string all;
        for (std::size_t& s : sizes)
            all += request(s = some_size() % 20'000,
                           &s == &sizes.back() ? "Connection: close\r\n" : "");
        raw_peer p(all_.port);
        p.send(all);
        for (const std::size_t& s : sizes) {
            const std::string got = p.response();
            const std::string_view last = &s == &sizes.back() ? "(close) 200 " : "200 ";
            all_.is(pipelined, got == std::string(last) + std::string(pattern(s)), got);
        }
        const std::string rest = p.rest();
        if (!rest.empty()) all_.is(pipelined, false, "after the end: " + rest);
    }
    void talk(kind what, std::string_view scheme, std::uint16_t port) {
        ws::dial_options options;
        options.tls = all_.trusting;
        auto c = ws::blocking_client::connect(url(scheme, port, "/echo"), std::move(options));
        if (!c) {
            all_.is(what, false, c.error().message);
            return;
        }
        for (auto n = random_() % 50; n > 0; --n) {
            const std::string_view text = pattern(some_size());
            const auto op = chance(2) ? ws::opcode::text : ws::opcode::binary;
            if (auto sent = c->send(text, op); !sent) {
                all_.is(what, false, sent.error().message);
                return;
            }
            const auto m = c->receive(30s);
            all_.is(what, m && m->op == op && m->data == text,
                    m ? std::string(m->data) : m.error().message);
            if (!m) return;
            if (chance(100)) return;  // without goodbye
        }
        c->close();
    }
    // A part of something right, perhaps with a part of the answer read, then the end: in order or
    // by a reset.
    void leave_early() {
        constexpr ws::mask_key key{1, 2, 3, 4};
        wire::buffer frames;
        ws::append_frame(frames, ws::opcode::text, pattern(some_size()), key);
        ws::append_frame(frames, ws::opcode::ping, "p", key);
        const std::string upgrade =
            "GET /echo HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: "
            "Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        const std::size_t size = some_size();
        const std::string body(pattern(size));
        const std::array<std::string, 3> possible{
            request(some_size()) + request(some_size()),
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(size) +
                "\r\n\r\n" + body,
            upgrade + std::string(frames.view())};
        const std::string& whole = possible[random_() % possible.size()];
        raw_peer p(all_.tls_port != 0 && chance(4) ? all_.tls_port : all_.port);
        p.send_until_stuck(std::string_view(whole).substr(0, random_() % (whole.size() + 1)), 10);
        if (chance(2)) {
            std::array<char, 4096> some;
            [[maybe_unused]] const auto n = ::recv(p.fd(), some.data(), some.size(), MSG_DONTWAIT);
        }
        if (chance(2)) {
            const linger now{1, 0};
            ::setsockopt(p.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
        }
        all_.is(left_early, true);
    }

    soak& all_;
    std::mt19937_64 random_;
    std::optional<http::client> client_;
};

std::size_t resident_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        std::size_t kib = 0;
        if (word == "VmRSS:" && status >> kib) return kib;
    }
    return 0;
}

// False, with the figures printed, when memory has grown by the rule above.
bool is_steady(const std::vector<std::size_t>& samples) {
    const auto quarter = static_cast<std::ptrdiff_t>(samples.size() / 4);
    const std::size_t early =
        *std::max_element(samples.begin() + quarter, samples.begin() + 2 * quarter);
    const std::size_t late = *std::max_element(samples.end() - quarter, samples.end());
    const std::size_t most = early + early / 20 + 8 * 1024;
    std::printf(
        "memory: at most %zu KiB in the second quarter, %zu KiB in the last; allowed %zu KiB\n",
        early, late, most);
#ifdef WIRE_SANITIZED
    return true;  // sanitizers keep what is freed
#else
    return late <= most;
#endif
}

struct options {
    std::chrono::seconds time = 60min;
    wire::loop_engine engine = wire::loop_engine::automatic;
    std::uint64_t seed = 1;
    unsigned workers = 4;
};

std::optional<options> read(int argc, char** argv) {
    options out;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const std::string_view value = argv[i + 1];
        unsigned number = 0;
        const bool is_number =
            std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc();
        if (name == "--engine") {
            if (value != "epoll" && value != "io_uring") return std::nullopt;
            out.engine = value == "epoll" ? wire::loop_engine::epoll : wire::loop_engine::io_uring;
        } else if (!is_number || number == 0) {
            return std::nullopt;
        } else if (name == "--minutes") {
            out.time = std::chrono::minutes(number);
        } else if (name == "--seconds") {
            out.time = std::chrono::seconds(number);
        } else if (name == "--seed") {
            out.seed = number;
        } else if (name == "--workers") {
            out.workers = number;
        } else {
            return std::nullopt;
        }
    }
    return argc % 2 == 1 ? std::optional(out) : std::nullopt;
}

int run(const options& given) {
    soak all;
    http::server_options how;
    how.host = "127.0.0.1";
    how.loops = 2;
    how.loop.engine = given.engine;
    how.drain_timeout = 2s;
    auto plain = http::server::listen(0, make_routes(), how);
    if (!plain) {
        std::fprintf(stderr, "wire_soak: %s\n", plain.error().message.c_str());
        return 1;
    }
    all.port = plain->port();
    std::vector<std::thread> threads;
    threads.emplace_back([&] { plain->run(); });
#ifdef WIRE_SOAK_TLS
    wire::testing::certificates made;
    const auto ours = made.for_localhost();
    wire::tls::server_options secret;
    secret.certificates = {{ours.certificate, ours.key}};
    how.tls = *wire::tls::server_context::create(secret);
    auto encrypted = http::server::listen(0, make_routes(), how);
    all.tls_port = encrypted->port();
    threads.emplace_back([&] { encrypted->run(); });
    wire::tls::client_options trusting;
    trusting.ca_file = made.ca_file();
    all.trusting = *wire::tls::client_context::create(trusting);
#endif
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < given.workers; ++i)
        workers.emplace_back([&all, seed = given.seed + i] { worker(all, seed).run(); });

    // 400 samples or more, so that a quarter of them says something.
    const auto begin = clock::now();
    // Given.time is whole seconds.
    const auto step = std::min<clock::duration>(clock::duration(given.time) / 400, 1s);
    const auto line = given.time > 2min ? 60s : 5s;
    auto next_line = begin + line;
    std::vector<std::size_t> samples;
    while (clock::now() - begin < given.time && all.wrong < 1000) {
        std::this_thread::sleep_for(step);
        samples.push_back(resident_kib());
        if (clock::now() < next_line) continue;
        next_line += line;
        std::uint64_t total = 0;
        for (const auto& n : all.done) total += n;
        std::printf("%5lld s  %10llu operations  %llu wrong  %zu KiB\n",
                    static_cast<long long>((clock::now() - begin) / 1s),
                    static_cast<unsigned long long>(total),
                    static_cast<unsigned long long>(all.wrong.load()), samples.back());
        std::fflush(stdout);
    }
    all.over = true;
    for (std::thread& t : workers) t.join();
    plain->stop();
#ifdef WIRE_SOAK_TLS
    encrypted->stop();
#endif
    for (std::thread& t : threads) t.join();
    bool idle = false;
    for (std::size_t i = 0; i < kinds; ++i) {
        std::printf("%-20s %llu\n", names[i].data(),
                    static_cast<unsigned long long>(all.done[i].load()));
        const bool possible = all.tls_port != 0 || (i != get_tls && i != websocket_tls);
        idle = idle || (possible && all.done[i] == 0);
    }
    const bool steady = samples.size() >= 8 && is_steady(samples);
    std::printf("%s\n", all.wrong > 0 ? "FAILED: wrong replies"
                        : idle        ? "FAILED: a kind of load never ran"
                        : steady      ? "ok"
                                      : "FAILED: memory grows");
    return all.wrong == 0 && !idle && steady ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const auto given = read(argc, argv);
    if (!given) {
        std::fprintf(stderr,
                     "usage: wire_soak [--minutes N | --seconds N] [--engine epoll|io_uring] "
                     "[--seed N] [--workers N]\n");
        return 64;
    }
    return run(*given);
}
