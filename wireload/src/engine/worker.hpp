// One thread of the generator: a loop and its share of the connections.
//
// The main thread gives orders, one after another:
//
//   order          the thread                               done when
//   ------------   --------------------------------------   -----------------------------------
//   order_open()   makes connections and opens them, so     each is open or has failed; without
//                  many at a time                           keep-alive at once
//   order_load()   sends requests and counts replies        the window ended: load_window.hpp
//   order_cut()    ends either of these                     in the next loop iteration
//   order_end()    closes all connections and ends          join() returns
//
// Orders are posted to the loop; when one is done, done() is true and `control` is notified. The
// thread's results may then be read until the next order.
//
// The worker owns everything; connections, pacer and gate see connection_host alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "engine/connection_host.hpp"
#include "engine/connection_slab.hpp"
#include "engine/load_order.hpp"
#include "engine/pacer.hpp"
#include "engine/publisher.hpp"
#include "engine/request_times.hpp"

namespace wireload {

class worker final : private window_owner {
public:
    // All that is passed by reference must outlive it. `connections`: that it may come to have.
    worker(const plan& p, source_ports& sources, series_collector& series, control& main,
           unsigned index, std::uint32_t connections);
    ~worker();
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    // ---- from the main thread ----

    wire::result<void> start();
    // Brings the number of connections to `connections`, opening those that are not open, `at_once`
    // at a time; with 0 they are only made ready to open when they have something to send.
    void order_open(std::uint32_t connections, std::uint32_t at_once);
    void order_load(const load_order& order);
    void order_cut();
    void order_end();
    void join();

    bool done() const { return orders_done_.load(std::memory_order_acquire) == orders_given_; }
    // Every connection failed many times in a row, and none works.
    bool dead() const { return host_.dead(); }

    const connect_meter& opened() const { return host_.meter(); }
    // As the last load ended.
    const session_counts& sessions() const { return sessions_; }
    const tally& result() const { return host_.window().result(); }
    // Right replies since the start, counted or not.
    std::uint64_t answered() const { return host_.window().answered(); }
    // Precondition: the loop is open.
    const open_loop_gate& gate() const { return *host_.gate(); }
    // Precondition: messages are broadcast.
    const broadcast_ledger& broadcasts() const { return *host_.broadcasts(); }

private:
    void run();
    void run_one_connection();
    void pin() const;
    void say_goodbye();

    void begin_open(std::uint32_t connections, std::uint32_t at_once);
    void add_connections(std::uint32_t count);
    void open_more();
    void begin_load(const load_order& order);
    void cut();
    void order_finished();

    void serve_due();
    void serve_retries();
    void sweep_deadlines();
    void on_edge_timer();

    flight in_flight_at(nanos at, nanos start) const override;
    void window_opened() override;
    void window_expired() override;
    void load_ended() override;

    const plan& plan_;
    control& main_;
    const unsigned index_;
    const std::uint32_t share_;  // connections that this worker may come to have

    std::thread thread_;
    std::uint64_t orders_given_ = 0;
    std::atomic<std::uint64_t> orders_done_{0};
    std::atomic<bool> ended_{false};

    // Everything below belongs to the worker's thread (its results to the main thread between
    // orders). The host has the loop, and goes last.
    connection_host host_;
    request_times times_;
    connection_slab connections_;
    std::unique_ptr<pacer> pacer_;          // null in a closed loop
    std::unique_ptr<publisher> publisher_;  // null unless messages are broadcast
    std::vector<connection*> serving_;
    session_counts sessions_;
    wire::timer deadline_timer_;
    wire::timer edge_timer_;
};

}  // namespace wireload
