// Connections that were accepted and have not said yet, by the PROXY protocol, for whom they are.
//
//     state     waits for              leaves by
//     arriving  the rest of a header   its end -> on_arrived; malformed, the connection's end, or
//                                      the time limit -> closed, on_refused
//
// Exactly the header's bytes are taken from the socket, by looking at what is there first: what
// follows, TLS or HTTP, is still there for the connection that is then made. Owned by the worker,
// on its loop's thread; it owns the sockets meanwhile.
#pragma once

#include <list>

#include "wire/base/function.hpp"
#include "wire/base/limits.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/loop/socket.hpp"
#include "wire/proto/proxy_header.hpp"

namespace wire::http::detail {

class proxy_intake {
public:
    using arrived_handler =
        unique_function<void(unique_fd, const address& proxy, const proxy_header& said)>;

    // `loop` and `bounds` must outlive it. Neither handler may destroy it.
    proxy_intake(event_loop& loop, const limits& bounds, arrived_handler on_arrived,
                 unique_function<void()> on_refused);

    void add(unique_fd socket, const address& proxy);
    std::size_t size() const noexcept { return arriving_.size(); }
    // Gives those that are here `longest` from now at most.
    void hurry(std::chrono::milliseconds longest);
    // Closes all.
    void clear() noexcept { arriving_.clear(); }

private:
    struct arriving : io_source {
        arriving(proxy_intake& i, unique_fd s, const address& p)
            : io_source(&proxy_intake::on_ready),
              owner(&i),
              socket(std::move(s)),
              proxy(p),
              parser(i.bounds_->max_proxy_header_bytes) {}
        ~arriving() {
            if (watched()) loop()->unwatch(*this);  // before the descriptor closes
        }
        void out_of_time() noexcept { owner->refuse(*this); }

        proxy_intake* owner;
        unique_fd socket;
        address proxy;
        proxy_header_parser parser;
        timer deadline = timer::calling<&arriving::out_of_time>(this);
        std::list<arriving>::iterator self;
    };

    static void on_ready(io_source& source, ready) noexcept;
    void read(arriving& a);
    void refuse(arriving& a) noexcept;

    event_loop* loop_;
    const limits* bounds_;
    arrived_handler on_arrived_;
    unique_function<void()> on_refused_;
    std::list<arriving> arriving_;
};

}  // namespace wire::http::detail
