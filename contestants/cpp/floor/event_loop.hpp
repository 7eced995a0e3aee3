// Sockets and nothing else: one epoll loop in one thread that accepts, reads, hands bytes to a
// `service` and writes.
//
// A turn takes all events that are ready, reads and answers each, and only then writes: on a busy
// server that lets the peers collect several replies a wake-up. Memory of an idle connection is the
// `connection` below and the kernel's socket; buffers exist only while a message is incomplete or
// the peer does not read.
#pragma once

#include "http1.hpp"
#include "tls.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace wirebench {

// What a parser wants to remember between two reads.
struct parse_state {
    std::size_t need = 0;
    http1::chunks chunks;
};

// Bytes of a message that has not arrived whole.
struct input {
    std::unique_ptr<char[]> data;
    std::size_t size = 0;
    std::size_t capacity = 0;
    parse_state state;
};

struct piece {
    const char* fixed = nullptr;  // null: `offset` into the string that belongs to it
    std::size_t offset = 0;
    std::size_t size = 0;
    bool borrowed = false;  // fixed only until the service returns
};

// Bytes that the socket did not take yet.
struct backlog {
    std::vector<piece> pieces;
    std::size_t first = 0;
    std::string bytes;
};

struct fragments {
    unsigned op = 0;
    std::string bytes;
};

struct connection {
    int fd = -1;
    std::uint32_t interest = 0;  // what epoll watches
    std::uint32_t drained = 0;   // bytes thrown away while lingering
    bool websocket = false;
    bool closing = false;  // close when all is written
    bool lingers =
        false;  // the peer may still be sending: do not let a reset overtake the last reply
    bool lingering = false;
    bool held = false;        // a reply is being waited for; what follows must wait too
    bool stalled = false;     // enough is queued; go on when it is written
    bool continued = false;   // "100 Continue" was sent for the request that is arriving
    std::uint32_t place = 0;  // among those that the service keeps
    tls_session tls;          // null: plain TCP
    std::unique_ptr<input> in;
    std::unique_ptr<backlog> out;
    std::unique_ptr<fragments> message;
};

class service;

class event_loop {
public:
    // Takes over a listening, non-blocking socket. `handler` must outlive the loop, and so must
    // `tls`, which is null for plain TCP, and `accepted`, which counts connections unless it is
    // null.
    event_loop(int listener, service& handler, ssl_ctx_st* tls,
               std::atomic<std::uint64_t>* accepted);

    [[noreturn]] void run();

    // The following are for the service, in the loop's own thread.

    // Queues bytes that live as long as the program.
    void queue_fixed(connection& to, std::string_view bytes) {
        queue(to, {.fixed = bytes.data(), .size = bytes.size()});
    }

    // Queues what the caller appended to `scratch()` since it was `from` bytes long.
    void queue_scratch(connection& to, std::size_t from);
    std::string& scratch() { return scratch_; }

    // The same for bytes that go to several connections. They do not count as replies to one that
    // is being served.
    void queue_shared(connection& to, std::size_t from) {
        items_.push_back({&to, {.offset = from, .size = scratch_.size() - from}});
    }

    // Sends bytes that live only until this returns, after all that is queued.
    void send_borrowed(connection& to, std::string_view bytes);

    // Must nothing more be asked of this connection in this turn?
    bool is_full(connection& c) const { return c.closing || c.held || c.stalled || c.fd < 0; }

    // Stops taking requests of the connection until `release`. A held connection is not destroyed,
    // even if the peer goes away (then its fd is -1).
    void hold(connection& c) { c.held = true; }
    void release(connection& c);

    // Calls service::on_timer once that moment of CLOCK_MONOTONIC has come; one timer, the last
    // call counts.
    void set_timer(std::int64_t monotonic_ns);

private:
    void queue(connection& to, piece what);
    void accept_all();
    void pause_accept(bool paused);
    void handle(connection& c, std::uint32_t events);
    void receive(connection& c);
    bool on_readable(connection& c);
    void on_writable(connection& c);
    void feed(connection& c);
    void keep(connection& c, const char* data, std::size_t size);
    void flush_turn();
    void resume_all();
    void write_items(connection& c, std::size_t begin, std::size_t end);
    void after_write(connection& c);
    void linger(connection& c);
    void watch(connection& c, std::uint32_t interest);
    void close(connection& c);

    struct item {
        connection* to;
        piece what;
    };

    int epoll_;
    int listener_;
    int timer_;
    service& service_;
    ssl_ctx_st* tls_;
    std::atomic<std::uint64_t>* accepted_;
    bool accept_paused_ = false;
    std::unique_ptr<char[]> received_;
    parse_state state_;        // for bytes in received_
    std::vector<item> items_;  // what this turn writes, in order
    std::string scratch_;
    std::size_t queued_bytes_ = 0;  // of the connection being served
    std::vector<connection*> resumable_;
    std::vector<std::unique_ptr<connection>> closed_;
};

// What is served. Called in the loop's thread.
class service {
public:
    service() = default;
    service(const service&) = delete;
    service& operator=(const service&) = delete;
    virtual ~service() = default;

    // Answers the messages at the front of the bytes; returns how many bytes those were. May change
    // the bytes.
    virtual std::size_t on_bytes(event_loop& loop, connection& from, char* data, std::size_t size,
                                 parse_state& state) = 0;
    virtual void on_timer(event_loop&) {}
    // The connection is gone. Not called while on_bytes() runs.
    virtual void on_closed(connection&) {}
};

}  // namespace wirebench
