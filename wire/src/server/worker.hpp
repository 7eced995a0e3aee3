// One loop of a server with its connections; worker.cpp has its states. All on the loop's thread,
// but stop().
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connection.hpp"
#include "doors.hpp"
#include "exceptions.hpp"
#include "exchange.hpp"
#include "loop/deferred_deletion.hpp"
#include "observer.hpp"
#include "proxy_intake.hpp"
#include "wire/loop/listener.hpp"
#include "wire/loop/task.hpp"
#include "wire/server/server.hpp"

namespace wire::http::detail {

class worker {
public:
    // All must outlive it; `peers` may be null.
    worker(const server_options& options, handler& h, peer_counts* peers, doors& d);
    ~worker();
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    result<void> start();
    // After start(); for each socket that it is to accept from.
    result<void> accept_from(unique_fd listening, listener::use how);
    void run();
    // One loop iteration; false when there are no more, after stop() and the drain that follows.
    bool run_once(clock::duration longest);
    clock::duration next_timeout() const noexcept;
    void stop() noexcept { loop_->stop(); }

    // ---- for connections ----

    // What a peer that connected just before the server was told to stop has for each of: saying
    // for whom it is, its handshake, and its request. Go's Server.Shutdown gives 5 s.
    static constexpr std::chrono::milliseconds last_request{1'000};

    event_loop& loop() noexcept { return *loop_; }
    const wire::limits& limits() const noexcept { return options_->limits; }
    bool draining() const noexcept { return draining_; }
    // Null without an access log and metrics.
    detail::observer* observer() noexcept { return observer_ ? &*observer_ : nullptr; }
    loop_metrics* counts() noexcept { return observer_ ? observer_->counts() : nullptr; }
    void handle(response res);
    // Whether fields of trusted proxies are read, and that.
    bool believes_fields() const noexcept { return believes_fields_; }
    void read_fields(received_request& r) const;
    // Whether a CONNECT with this head may be answered with a tunnel.
    bool tunnels(const request_head& head) const noexcept {
        return options_->tunnels && head.framing == framing::none;
    }
    // Whether the body of `r` is to be read as it comes.
    body_plan plan_body(const request& r) const {
        return options_->plan_body ? options_->plan_body(r) : body_plan();
    }
    // "Date: ...\r\n", and Server when there is one; renewed every second.
    std::string_view common_fields();
    static constexpr std::size_t date_field_bytes = 37;  // of those, Date's

    // Where the next request's head is parsed to; take_spare() makes it that request's own.
    exchange& spare() {
        if (spare_ == nullptr) spare_ = fresh();
        return *spare_;
    }
    exchange* take_spare() { return spare_.release(); }
    void recycle(exchange* e) noexcept;

    // What WebSocket sessions that compress share.
    ws::deflate_pool& deflates() {
        if (deflates_ == nullptr) deflates_ = std::make_unique<ws::deflate_pool>();
        return *deflates_;
    }

    // What their unfinished messages hold.
    ws::detail::message_budget& unfinished_messages() noexcept { return unfinished_messages_; }

    // The response was sent.
    void complete(exchange* e);
    // Handlers that are coroutines, until they end.
    task_group& tasks() noexcept { return tasks_; }
    // Exceptions of handlers and callbacks.
    detail::exceptions& exceptions() noexcept { return exceptions_; }
    loop_handle& handle_of_loop() noexcept { return *handle_; }
    void report(const handshake_failure& f);
    // Destroys the connection, closed already, at the end of the loop iteration.
    void defer(connection& c);

private:
    void accept(unique_fd socket, const address& peer);
    void arrive(unique_fd socket, const address& proxy, const proxy_header& said);
    // `proxy` may be null.
    void serve(unique_fd socket, const address& peer, const address* proxy);
    std::unique_ptr<exchange> fresh();
    void begin_drain();
    void end_drain();
    void take_no_more() noexcept;
    bool idle() const noexcept {
        return count_ == 0 && tasks_.empty() && (intake_ == nullptr || intake_->size() == 0);
    }

    const server_options* options_;
    handler* handler_;
    peer_counts* peers_;
    doors* doors_;
    std::optional<detail::observer> observer_;
    std::shared_ptr<loop_handle> handle_;
    std::unique_ptr<event_loop> loop_;
    std::unique_ptr<ws::deflate_pool> deflates_;
    ws::detail::message_budget unfinished_messages_;
    detail::exceptions exceptions_{*this};
    task_group tasks_;
    std::list<listener> listeners_;
    std::unique_ptr<proxy_intake> intake_;  // null without the PROXY protocol
    connection::list connections_;
    std::size_t count_ = 0;
    wire::detail::deferred_deletion<connection> deferred_deletion_;
    std::unique_ptr<exchange> spare_;
    std::vector<std::unique_ptr<exchange>> idle_exchanges_;
    std::string common_fields_;
    time_point common_fields_until_{};
    const bool believes_fields_;
    bool draining_ = false;
    time_point drain_deadline_{};
};

}  // namespace wire::http::detail
