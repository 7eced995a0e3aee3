// Reads PROXY protocol headers off new connections, and nothing behind them.
#include "proxy_intake.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace wire::http::detail {

proxy_intake::proxy_intake(event_loop& loop, const limits& bounds, arrived_handler on_arrived,
                           unique_function<void()> on_refused)
    : loop_(&loop),
      bounds_(&bounds),
      on_arrived_(std::move(on_arrived)),
      on_refused_(std::move(on_refused)) {}

void proxy_intake::add(unique_fd socket, const address& proxy) {
    arriving& a = arriving_.emplace_back(*this, std::move(socket), proxy);
    a.self = std::prev(arriving_.end());
    if (!loop_->watch(a, a.socket.get(), ready::read)) {
        refuse(a);
        return;
    }
    loop_->arm_after(a.deadline, bounds_->header_timeout);
}

void proxy_intake::hurry(std::chrono::milliseconds longest) {
    for (arriving& a : arriving_) {
        if (a.deadline.deadline() > loop_->now() + longest) loop_->arm_after(a.deadline, longest);
    }
}

void proxy_intake::on_ready(io_source& source, ready) noexcept {
    auto& a = static_cast<arriving&>(source);
    a.owner->read(a);
}

void proxy_intake::read(arriving& a) {
    char bytes[512];
    const auto n = ::recv(a.socket.get(), bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return refuse(a);
    const auto s = a.parser.parse({bytes, static_cast<std::size_t>(n)});
    if (s.what == proxy_header_parser::event::failed) return refuse(a);
    // They are there: not one byte fewer is taken.
    if (::recv(a.socket.get(), bytes, s.consumed, MSG_DONTWAIT) != static_cast<ssize_t>(s.consumed))
        return refuse(a);
    if (s.what == proxy_header_parser::event::need_more) return;
    loop_->unwatch(a);
    unique_fd socket = std::move(a.socket);
    const address proxy = a.proxy;
    const proxy_header said = a.parser.header();
    arriving_.erase(a.self);
    on_arrived_(std::move(socket), proxy, said);
}

void proxy_intake::refuse(arriving& a) noexcept {
    arriving_.erase(a.self);
    on_refused_();
}

}  // namespace wire::http::detail
