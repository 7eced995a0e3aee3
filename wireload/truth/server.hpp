// The server that keeps a law: HTTP/1.1 requests without bodies, one thread. Plain epoll and no
// parser of ours, so that it shares no mistake with the generator it is there to check.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "law.hpp"
#include "record.hpp"

namespace truth {

inline constexpr std::string_view right_body = "hello";

class server {
public:
    // Listens on 127.0.0.1. `port` 0: any. Throws std::system_error.
    server(std::unique_ptr<law> l, const faults& f, std::uint16_t port);
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    std::uint16_t port() const noexcept { return port_; }
    // Serves until `stop_fd` is readable.
    void run(int stop_fd);
    const record& what_was_done() const noexcept { return record_; }

private:
    struct connection {
        int fd = -1;
        // Tells the answers of one that is gone from those of its successor.
        std::uint32_t generation = 0;
        std::string unread;  // a request that has come half
        std::string unsent;
        nanos last_due = 0;  // answers leave in the order of the requests (RFC 9112 section 9.3.2)
    };
    struct pending {
        nanos due;
        std::uint64_t index;
        std::uint32_t slot;
        std::uint32_t generation;
        nanos received;
        nanos law;
        bool operator>(const pending& other) const {
            return due != other.due ? due > other.due : index > other.index;
        }
    };

    void accept_all();
    void read_from(std::uint32_t slot);
    static nanos arrival(const msghdr& message);
    void take_requests(std::uint32_t slot, std::string_view bytes, nanos now);
    void answer_due();
    void give(const pending& p);
    void flush(connection& c) const;
    void flush_rest(std::uint32_t slot);
    void close(connection& c);
    void watch(const connection& c, std::uint32_t slot, bool writable, bool add) const;
    // Milliseconds for epoll_wait. Close to the next answer 0: waking up takes longer than the
    // precision we want.
    int patience();
    void count(answer a);

    std::unique_ptr<law> law_;
    faults faults_;
    record record_;
    int listener_ = -1;
    int epoll_ = -1;
    int timer_ = -1;
    std::uint16_t port_ = 0;
    nanos unix_offset_ = 0;  // of the steady clock
    nanos anchor_ = 0;       // on the steady clock; 0: no request yet
    std::vector<connection> connections_;
    std::vector<std::uint32_t> free_;
    std::priority_queue<pending, std::vector<pending>, std::greater<>> waiting_;
    std::string scratch_;
};

}  // namespace truth
