// One loop of a server: it accepts connections, lends them exchanges, and ends in order.
//
//   state      entered when                      what happens
//   serving    run(), or the first run_once()    connections are accepted, requests handled
//   draining   a loop iteration sees that        the listeners are closed, handlers are told by
//              stop() was called (any thread)    their stop_token, idle connections are dropped
//                                                (new ones a second later), sessions
//                                                closed with 1001, requests in progress answered
//                                                with "Connection: close"
//   over       no connections nor coroutines     what is left is dropped or destroyed where it
//              are left, or drain_timeout is     waits; run() returns, run_once() returns false
//              over
//
// Owners: the worker owns its loop, listeners, connections (from accept() to defer()), coroutines
// of handlers, and the exchanges that no request uses. Threads: run() or run_once() makes the
// calling thread the loop's; all else happens there, but stop().
#include "worker.hpp"

#include <algorithm>
#include <cstring>

#include "client_view.hpp"
#include "wire/proto/http_writer.hpp"

namespace wire::http::detail {

namespace {

constexpr std::size_t max_idle_exchanges = 256;

bool same(const address& a, const address& b) noexcept {
    return a.size() == b.size() && std::memcmp(a.raw(), b.raw(), a.size()) == 0;
}

}  // namespace

[[gnu::cold]] worker::worker(const server_options& options, handler& h, peer_counts* peers,
                             doors& d)
    : options_(&options),
      handler_(&h),
      peers_(peers),
      doors_(&d),
      handle_(std::make_shared<loop_handle>()),
      believes_fields_(options.forwarded_fields.any()) {
    if (options.on_finished || options.metrics != nullptr) {
        observer_.emplace(options.on_finished ? &options.on_finished : nullptr,
                          options.metrics != nullptr ? &add_loop(*options.metrics) : nullptr);
    }
    handle_->owner = this;
    handle_->limits = options.limits;
    handle_->pages = options.error_pages;
    handle_->on_exception = options.on_exception;
    handle_->max_unsent_bytes = options.limits.max_unsent_bytes;
    idle_exchanges_.reserve(max_idle_exchanges);  // so that recycle() cannot throw
}

[[gnu::cold]] worker::~worker() {
    // Also where run_once() has not been called until it returned false. What is told of its end
    // here may send responses to other connections: it must still find the loop.
    draining_ = true;
    listeners_.clear();
    doors_->close();
    intake_.reset();
    handle_->stopping.request_stop();
    while (connections_.first != nullptr) connections_.first->drop();
    tasks_.clear();
    exceptions_.flush();
    handle_->thread.store(std::thread::id(), std::memory_order_relaxed);
    take_no_more();
    deferred_deletion_.clear();
}

// Responses and bodies that are used from here on, on other threads, find nobody.
void worker::take_no_more() noexcept {
    const std::lock_guard lock(handle_->mutex);
    handle_->loop = nullptr;
}

result<void> worker::start() {
    auto loop = event_loop::create(options_->loop);
    if (!loop) return loop.error();
    loop_ = *std::move(loop);
    handle_->loop = loop_.get();
    if (options_->proxy_protocol == proxy_protocol::required) {
        intake_ = std::make_unique<proxy_intake>(
            *loop_, options_->limits,
            [this](unique_fd fd, const address& proxy, const proxy_header& said) {
                arrive(std::move(fd), proxy, said);
            },
            [this] {
                if (observer_) observer_->refused(refusal::proxy);
            });
    }
    return {};
}

result<void> worker::accept_from(unique_fd listening, listener::use how) {
    const auto accepted = [this](unique_fd fd, const address& peer) {
        accept(std::move(fd), peer);
    };
    return listeners_.emplace_back().start(*loop_, std::move(listening), accepted, how);
}

void worker::run() {
    handle_->thread.store(std::this_thread::get_id(), std::memory_order_relaxed);
    loop_->run();
    begin_drain();
    while (run_once(event_loop::forever)) {}
}

bool worker::run_once(clock::duration longest) {
    handle_->thread.store(std::this_thread::get_id(), std::memory_order_relaxed);
    if (!draining_ && loop_->stop_requested()) begin_drain();
    if (draining_) {
        const auto left = drain_deadline_ - clock::now();
        if (idle() || left <= clock::duration::zero()) {
            end_drain();
            return false;
        }
        longest = std::min(longest, left);
    }
    loop_->run_once(longest);
    return true;
}

clock::duration worker::next_timeout() const noexcept {
    if (!draining_)
        return loop_->stop_requested() ? clock::duration::zero() : loop_->next_timeout();
    const auto left = idle() ? clock::duration::zero() : drain_deadline_ - clock::now();
    return std::clamp(loop_->next_timeout(), clock::duration::zero(),
                      std::max(left, clock::duration::zero()));
}

void worker::begin_drain() {
    draining_ = true;
    for (listener& l : listeners_) l.finish();
    doors_->close();
    loop_->refresh_now();
    drain_deadline_ = loop_->now() + options_->drain_timeout;
    if (intake_ != nullptr) intake_->hurry(last_request);
    handle_->stopping.request_stop();
    for (connection* c = connections_.first; c != nullptr;) {
        connection* const next = c->next();
        c->drain();
        c = next;
    }
}

void worker::end_drain() {
    if (intake_ != nullptr) intake_->clear();
    while (connections_.first != nullptr) connections_.first->drop();
    tasks_.clear();
    take_no_more();
    loop_->run_once(clock::duration::zero());  // destroys the dropped ones, serves what was posted
    handle_->thread.store(std::thread::id(), std::memory_order_relaxed);
}

// Returning before the end closes the socket.
void worker::accept(unique_fd socket, const address& peer) {
    const std::size_t all = count_ + (intake_ != nullptr ? intake_->size() : 0);
    if (all >= options_->limits.max_connections / std::max(options_->loops, 1U)) {
        if (observer_) observer_->refused(refusal::limit);
    } else if (intake_ == nullptr) {
        serve(std::move(socket), peer, nullptr);
    } else if (trusts(options_->trusted_proxies, peer)) {
        intake_->add(std::move(socket), peer);
    } else if (observer_) {
        observer_->refused(refusal::proxy);
    }
}

void worker::arrive(unique_fd socket, const address& proxy, const proxy_header& said) {
    switch (said.what) {
    case proxy_header::kind::own: return serve(std::move(socket), proxy, nullptr);
    case proxy_header::kind::unknown: return serve(std::move(socket), proxy, &proxy);
    case proxy_header::kind::ip: return serve(std::move(socket), address_of(said.source), &proxy);
    case proxy_header::kind::unix_socket:
        return serve(std::move(socket), address::unix_peer(), &proxy);
    }
}

void worker::read_fields(received_request& r) const {
    // Whom the proxy made the connection for it did not say, so its word does not cover the fields.
    if (r.proxied_by_ && same(*r.proxied_by_, r.peer_)) return;
    r.client_ = read_client_view(r.head_.headers, r.peer_, options_->forwarded_fields,
                                 options_->trusted_proxies, options_->limits);
}

void worker::serve(unique_fd socket, const address& peer, const address* proxy) {
    // Before anything is made: an address that has its share connects as often as it likes.
    if (peers_ != nullptr && !peers_->add(peer)) {
        if (observer_) observer_->refused(refusal::address);
        return;
    }
    auto c = std::make_unique<connection>(*this, peer, proxy);
    bool made = true;
    if (options_->tls != nullptr) {
        auto tls = options_->tls->accept();
        made = tls.ok();  // else memory is short
        if (made) c->set_filter(*std::move(tls));
    }
    if (made && !c->attach(*loop_, std::move(socket))) {
        // The loop can hold no more.
        made = false;
        if (observer_) observer_->refused(refusal::limit);
    }
    if (!made) {
        if (peers_ != nullptr) peers_->remove(peer);
        return;
    }
    ++count_;
    if (observer_) observer_->accepted();
    c.release()->begin(connections_);
}

void worker::report(const handshake_failure& f) {
    if (loop_metrics* const c = counts(); c != nullptr) c->handshake_failures.add();
    if (options_->on_handshake_failure) options_->on_handshake_failure(f);
}

void worker::defer(connection& c) {
    c.unlink(connections_);
    --count_;
    if (peers_ != nullptr) peers_->remove(c.peer());
    if (observer_) observer_->closed();
    deferred_deletion_.defer(*loop_, std::unique_ptr<connection>(&c));
}

void worker::handle(response res) {
    exceptions_.begin();
    // An exception that unwinds the handler destroys the response: exceptions.hpp.
    try {
        (*handler_)(std::move(res));
    } catch (...) {
        exceptions_.caught(std::current_exception(), 0);
    }
}

[[gnu::cold]] std::string_view worker::common_fields() {
    if (loop_->now() >= common_fields_until_) {
        using namespace std::chrono;
        const auto unix_time = system_clock::now().time_since_epoch();
        const auto second = floor<seconds>(unix_time);
        const auto date = format_date(second.count());
        common_fields_ = "Date: ";
        common_fields_.append(date.data(), date.size());
        common_fields_ += "\r\n";
        if (!options_->server_name.empty())
            common_fields_ += "Server: " + options_->server_name + "\r\n";
        common_fields_until_ =
            loop_->now() + duration_cast<clock::duration>(second + seconds(1) - unix_time);
    }
    return common_fields_;
}

std::unique_ptr<exchange> worker::fresh() {
    if (idle_exchanges_.empty()) return std::make_unique<exchange>(handle_);
    auto e = std::move(idle_exchanges_.back());
    idle_exchanges_.pop_back();
    return e;
}

void worker::recycle(exchange* e) noexcept {
    std::unique_ptr<exchange> owned(e);
    // Also where it is not kept: its file may be known to what is posted. What users gave it may
    // recycle others meanwhile.
    owned->clear();
    if (idle_exchanges_.size() < max_idle_exchanges) idle_exchanges_.push_back(std::move(owned));
}

void worker::complete(exchange* e) {
    e->held = false;
    if (e->threw && counts() != nullptr) counts()->exceptions.add();
    if (e->ending) return;  // abandon() goes on with it
    if (e->from != nullptr) {
        e->from->respond(*e);
        return;
    }
    const auto in = e->in;
    const auto out = e->out;
    recycle(e);
    if (out != nullptr) out->lost();
    if (in != nullptr) in->end(errc::closed_early);
}

}  // namespace wire::http::detail
