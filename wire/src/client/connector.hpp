// Happy eyeballs (RFC 8305): the addresses of one host raced for one connection. On the loop's
// thread; it owns the sockets of its attempts until one wins.
//
//     event                              what follows
//     start(), go_on()                   the first untried address is attempted
//     `delay` has passed, none decided   the next untried address is attempted beside the others
//     an attempt fails                   the next untried address is attempted at once; where none
//                                        is left and none is under way, `done` is given the error
//     an attempt succeeds                the other attempts end, and count as untried again for
//                                        go_on(); `done` is given the socket
//     stop()                             all attempts end; `done` is not called
//
// connect() may succeed or fail at once: `done` is still called from the loop.
//
// A Unix socket is one address, which stands or fails at once, but for one whose queue of
// connections is full: that is tried again every `full_queue_pause` until stop().
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "wire/base/function.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/loop/socket.hpp"

namespace wire::detail {

// Families alternate, beginning with that of the first address; within a family the order stays
// (RFC 8305 section 4, with a First Address Family Count of 1).
std::vector<address> interleave(const std::vector<address>& addresses);

class connector : private iteration_hook {
public:
    using callback = unique_function<void(result<unique_fd>)>;

    // `blocks`: the loop is detail::blocking_loop()'s. start() and go_on() then wait inside
    // connect(), but no longer than until the next address or the loop's next timer is due.
    connector(event_loop& loop, const connect_options& options, std::chrono::milliseconds delay,
              bool blocks = false);

    // Tries them in this order. `done` is called once, from the loop, never from inside; it may
    // destroy the connector.
    void start(std::vector<address> addresses, callback done);
    // Tries the Unix socket at `path`: see connect_unix().
    void start_unix(std::string path, callback done);
    // The connection proved useless: tries the addresses that have not failed. False when there are
    // none.
    bool go_on(callback done);
    // What became of each attempt so far, for an error's message: "[::1]:80: Connection refused;
    // 10.0.0.1:80: no answer".
    std::string describe_attempts() const;
    void stop() noexcept;

private:
    struct attempt : io_source {
        attempt(connector& c, const address& a) noexcept
            : io_source(&connector::on_ready), owner(&c), to(a) {}
        ~attempt() {
            if (watched()) loop()->unwatch(*this);  // before the descriptor closes
        }
        connector* owner;
        address to;
        unique_fd socket;
    };

    static void on_ready(io_source& source, ready) noexcept;
    result<unique_fd> connect(const address& to, bool& stands);
    static void on_iteration_end(iteration_hook& hook) noexcept;
    void decided(attempt& a, int number);
    void begin();
    void next();
    bool try_next();
    void failed(error why);
    bool try_later(const address& to, const error& why);
    void finish(result<unique_fd> got);

    event_loop* loop_;
    connect_options options_;
    std::string unix_path_;
    clock::duration delay_;
    bool blocks_;
    std::vector<address> untried_;                    // the next one last
    std::vector<std::unique_ptr<attempt>> attempts_;  // oldest first
    attempt* winner_ = nullptr;                       // succeeded at once; told later
    callback done_;
    error last_;
    std::string failures_;
    timer timer_ = timer::calling<&connector::next>(this);
};

}  // namespace wire::detail
