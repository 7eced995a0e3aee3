// The server that broadcasts by a law: a message that a WebSocket sends goes to all, so long after
// it came, but for the faults that were asked for. One thread and plain epoll; of wireload it uses
// nothing that measures or parses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "law.hpp"

namespace truth {

// Which deliveries are wrong: every Nth, counted from 1 over all messages and subscribers; 0 for
// none. Where several meet the first of these counts.
struct broadcast_faults {
    std::uint64_t lose = 0;
    std::uint64_t twice = 0;
    std::uint64_t wrong = 0;  // other bytes, as many
    // Kept back until the next message has gone to that subscriber.
    std::uint64_t swap = 0;
};

class broadcast_server {
public:
    // Listens on 127.0.0.1. `port` 0: any. Throws std::system_error.
    broadcast_server(nanos delay, const broadcast_faults& f, std::uint16_t port);
    ~broadcast_server();
    broadcast_server(const broadcast_server&) = delete;
    broadcast_server& operator=(const broadcast_server&) = delete;

    std::uint16_t port() const noexcept { return port_; }
    // Serves until `stop_fd` is readable.
    void run(int stop_fd);
    nlohmann::ordered_json what_was_done() const;

private:
    struct subscriber {
        int fd = -1;
        bool open = false;   // the handshake is answered
        std::string unread;  // what has come half
        std::string kept_back;
    };
    struct pending {
        nanos due;
        nanos received;
        std::string message;
    };

    void accept_all();
    void read_from(subscriber& s);
    // Whether there was a whole head or frame.
    bool shake_hands(subscriber& s);
    bool take_frame(subscriber& s);
    void deliver(const pending& p);
    void deliver_to(subscriber& s, std::string_view message);
    void send(subscriber& s, std::string_view bytes);
    static void close(subscriber& s);

    nanos delay_;
    broadcast_faults faults_;
    int listener_ = -1;
    int epoll_ = -1;
    std::uint16_t port_ = 0;
    std::deque<subscriber> subscribers_;
    std::deque<pending> waiting_;
    std::uint64_t messages_ = 0, deliveries_ = 0, lost_ = 0, doubled_ = 0, wrong_ = 0,
                  reordered_ = 0;
    nanos longest_ = 0;  // from a message's arrival until its last delivery goes to the kernel
};

}  // namespace truth
