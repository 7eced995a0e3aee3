// What the two engines of readiness, epoll and poll(), do alike: all of streams. A stream's socket
// is a watched source like any other; recv() and send() are called when it is ready.
#pragma once

#include <sys/types.h>

#include <span>

#include "engine.hpp"

namespace wire::detail {

class readiness_engine : public engine {
public:
    result<void> attach(stream_core& s, unique_fd socket) final;
    result<void> connect(stream_core& s, const address& to, const connect_options& options) final;
    void close(stream_core& s, bool reset) noexcept final;
    bool send(stream_core& s, int& number) noexcept final;
    bool send_lasting(stream_core& s, std::string_view bytes, int& number) noexcept final;
    bool read_rest(stream_core& s) noexcept final;
    void send_at_once(stream_core& s, buffer& last) noexcept final;
    void update_interest(stream_core& s) noexcept final;
    bool quiet(const stream_core& s) noexcept final;
    bool run_alone(stream_core& s) noexcept final;

protected:
    // Whether the sockets that streams are given block where a call is not told otherwise.
    enum class sockets { non_blocking, blocking };
    readiness_engine(event_loop& loop, sockets kind) noexcept : engine(loop), sockets_(kind) {}

private:
    static void on_ready(io_source& source, ready what) noexcept;
    // What on_ready() does for one stream.
    void serve(stream_core& s, ready what) noexcept;
    static bool reads(const stream_core& s) noexcept;
    static void on_connect_ready(stream_core& s) noexcept;
    static void on_unread_ready(stream_core& s, ready what) noexcept;
    bool receive(stream_core& s, int flags) noexcept;
    ssize_t receive_noting_arrival(stream_core& s, std::span<char> space, int flags) noexcept;
    bool let_block(stream_core& s) noexcept;

    const sockets sockets_;
};

}  // namespace wire::detail
