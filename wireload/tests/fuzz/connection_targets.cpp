// A whole run of two requests, against a server that answers with the input.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "engine/run.hpp"
#include "fuzz/harness.hpp"
#include "plan/plan.hpp"
#include "targets.hpp"
#include "wire/loop/socket.hpp"
#include "wire/proto/ws_handshake.hpp"

namespace wireload::fuzz {

using wire::fuzz::require;

namespace {

// Of the first byte.
enum way : unsigned {
    websocket = 1,
    pipelined = 2,
    deflated = 4,
    counting = 8,
    in_two_pieces = 16,
    reset = 32,
    handshake_too = 64,
    for_each_request = 128
};

// Bytes until `text` is among them, or the peer is silent for a tenth of a second.
std::string receive_until(int fd, std::string_view text) {
    std::string got;
    char bytes[4096];
    pollfd p{fd, POLLIN, 0};
    while (got.find(text) == std::string::npos && poll(&p, 1, 100) > 0) {
        const auto n = recv(fd, bytes, sizeof bytes, 0);
        if (n <= 0) break;
        got.append(bytes, static_cast<std::size_t>(n));
    }
    return got;
}

void tell(int fd, std::string_view text) { (void)send(fd, text.data(), text.size(), MSG_NOSIGNAL); }

void answer(wire::unique_fd peer, unsigned how, std::string_view input) {
    const int fd = peer.get();
    const std::string asked = receive_until(fd, "\r\n\r\n");
    if ((how & websocket) != 0 && (how & handshake_too) == 0) {
        constexpr std::string_view name = "Sec-WebSocket-Key: ";
        const std::size_t at = asked.find(name);
        if (at == std::string::npos) return;
        const wire::http::header deflate{
            "Sec-WebSocket-Extensions",
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover"};
        wire::buffer out;
        require(wire::ws::write_upgrade_response(
                    out, std::string_view(asked).substr(at + name.size(), 24), {},
                    {&deflate, (how & deflated) != 0 ? 1U : 0U}) == wire::errc::none,
                "no handshake");
        tell(fd, out.view());
        (void)receive_until(fd, "");
    }
    do {
        const std::size_t cut = (how & in_two_pieces) != 0 ? input.size() / 2 : input.size();
        tell(fd, input.substr(0, cut));
        if (cut < input.size()) tell(fd, input.substr(cut));
    } while ((how & for_each_request) != 0 && !receive_until(fd, "\r\n\r\n").empty());
    if ((how & reset) != 0) {
        const linger now{1, 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        return;
    }
    shutdown(fd, SHUT_WR);
    pollfd p{fd, POLLIN, 0};
    char bytes[4096];
    while (poll(&p, 1, 100) > 0 && recv(fd, bytes, sizeof bytes, 0) > 0) {}
}

}  // namespace

void connection(std::string_view input) {
    if (input.empty()) return;
    const unsigned how = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    auto listening = wire::listen_tcp(wire::address::loopback_v4(0));
    require(listening.ok(), "nowhere to listen");
    const auto port = wire::local_address(listening->get())->port();

    options asked;
    asked.websocket = (how & websocket) != 0;
    asked.url =
        (asked.websocket ? "ws://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port) + "/";
    asked.urls = {asked.url};
    asked.connections = 1;
    asked.requests = 2;
    asked.in_flight = (how & pipelined) != 0 ? 2 : 1;
    asked.deflate = (how & deflated) != 0;
    asked.check = (how & counting) != 0 ? reply_check::count : reply_check::echo;
    asked.message = (how & counting) != 0 ? "{\"c\":{c}}" : "hello";
    asked.expect.match = {"^h"};
    asked.timeout = std::chrono::milliseconds(200);
    asked.engine = engine_choice::epoll;
    auto made = make_plan(std::move(asked));
    require(std::holds_alternative<std::unique_ptr<plan>>(made), "no plan");
    auto& p = *std::get<std::unique_ptr<plan>>(made);
    p.limits.max_header_bytes = 1024;
    p.limits.max_body_bytes = 1000;
    p.limits.max_message_bytes = 1000;

    const wire::unique_fd over(eventfd(0, EFD_CLOEXEC));
    std::variant<run_result, std::string> result;
    std::thread client([&] {
        result = run(p, nullptr);
        (void)eventfd_write(over.get(), 1);
    });
    pollfd both[] = {{over.get(), POLLIN, 0}, {listening->get(), POLLIN, 0}};
    while (poll(both, 2, -1) > 0 && both[0].revents == 0) {
        if (both[1].revents != 0)
            answer(wire::unique_fd(accept(listening->get(), nullptr, nullptr)), how, input);
    }
    client.join();
    require(std::holds_alternative<run_result>(result), "the run could not begin");
    const auto& counts = std::get<run_result>(result).counts;
    require(counts.ok <= 2, "more right replies than requests");
    require(counts.ok + counts.errors.total() > 0, "neither a reply nor an error");
    require((counts.errors.total() == 0) == !counts.first_error, "an error without its report");
}

}  // namespace wireload::fuzz
