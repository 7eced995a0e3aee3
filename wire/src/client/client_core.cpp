// Requests find connections, wait for them, are sent again, and end: see client_core.hpp for the
// states.
#include "client_core.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "reply_access.hpp"

namespace wire::http::detail {

client_core::client_core(event_loop& loop, client_options options, bool blocking)
    : loop_(&loop),
      options_(std::move(options)),
      policy_(options_),
      opening_(loop),
      piece_limits_(options_.limits) {
    opening_.blocking = blocking;
    opening_.cache.emplace(loop, opening_.names, options_.name_cache);
    piece_limits_.max_body_bytes = options_.max_streamed_bytes;
}

client_core::~client_core() { stop(); }

void client_core::stop() {
    if (std::exchange(stopping_, true)) return;
    alive_.reset();
    for (auto& [c, owned] : connections_) {
        if (auto job = c->abandon()) stopped_.push_back(std::move(job));
        for (auto& job : c->take_behind()) stopped_.push_back(std::move(job));
    }
    for (auto* const jobs : {&parked_, &undelivered_}) {
        for (auto& [raw, job] : *jobs) stopped_.push_back(std::move(job));
        jobs->clear();
    }
    for (auto& [name, o] : origins_) {
        for (auto& job : o.waiting) stopped_.push_back(std::move(job));
        o.waiting.clear();
    }
    for (const auto& job : stopped_) {
        job->deadline.reset();
        if (job->plan != nullptr) job->plan->waiting.reset();
    }
    opening_.names.stop();
    for (const auto& job : stopped_) {
        if (job->done) job->done(error(errc::stopped, job->request.url + ": the client is gone"));
    }
}

// ---- requests ----

namespace {

// A job without a callback is one that was cancelled: who wants no answer has one that takes it.
async_client::callback or_nobody(async_client::callback done) {
    if (done) return done;
    return [](const result<reply>&) {};
}

}  // namespace

request_id client_core::send(client_request request, async_client::callback done) {
    auto job = std::make_unique<client_job>();
    job->request = std::move(request);
    job->done = or_nobody(std::move(done));
    if (job->request.source) job->streamed = std::make_unique<client_transfer>();
    return begin(std::move(job));
}

request_id client_core::send(client_request request, response_pieces to) {
    auto job = std::make_unique<client_job>();
    job->request = std::move(request);
    job->done = or_nobody(std::move(to.end));
    job->streamed = std::make_unique<client_transfer>();
    job->streamed->in_pieces = true;
    job->streamed->head = std::move(to.head);
    job->streamed->data = std::move(to.data);
    return begin(std::move(job));
}

request_id client_core::begin(std::unique_ptr<client_job> job) {
    const request_id id = job->id = ++last_id_;
    if (stopping_) {  // by a callback that has just been told so
        loop_->post([job = std::move(job)] {
            job->done(error(errc::stopped, job->request.url + ": the client is gone"));
        });
        return 0;  // when it is told, there is no client to cancel it
    }
    const client_request& r = job->request;
    if (to_string(r.method).empty() || r.method == method::connect) {
        deliver_later(std::move(job), {errc::bad_argument, "not a method for this client"});
        return id;
    }
    if (last_.origin != nullptr && r.url == last_.text) {
        job->url = last_.url;
    } else if (auto refused = check(*job)) {
        deliver_later(std::move(job), std::move(refused));
        return id;
    } else {
        last_.text = r.url;
        last_.url = job->url;
        last_.origin = &origin_of(job->url);
    }
    policy_.begin(*job, loop_->core().present());
    if (const auto limit = job->timeouts(options_).total_timeout; limit.count() > 0) {
        job->owner = this;
        job->deadline.emplace(&client_core::out_of_time, job.get());
        loop_->arm_after(*job->deadline, limit);
    }
    client_origin& o = *last_.origin;
    submit(o, std::move(job));
    tidy(o);
    return id;
}

error client_core::check(client_job& job) {
    auto parsed = parse_url_to_request(job.request.url);
    if (!parsed) return parsed.error();
    if (parsed->websocket()) return {errc::bad_url, "this client is for http:// and https:// URLs"};
    if (const error& why = policy_.refusal()) return why;
    if (options_.max_connections == 0 || options_.max_connections_per_host == 0)
        return {errc::bad_argument, "max_connections: expected one at least, also for each host"};
    if (!options_.proxy.empty()) {
        if (auto good = wire::detail::parse_proxy(options_.proxy); !good) return good.error();
    }
    job.url = *std::move(parsed);
    return {};
}

void client_core::submit(std::unique_ptr<client_job> job) {
    client_origin& o = origin_of(job->url);
    submit(o, std::move(job));
}

void client_core::submit(client_origin& o, std::unique_ptr<client_job> job) {
    // The other idle connections are as old as the one that a resent job was lost on, or older.
    while (!o.idle.empty() && !job->resent) {
        client_connection* const c = o.idle.back();
        o.idle.pop_back();
        if (c->start(job)) {
            busy_ = c;
            return;
        }
        c->abandon();
        defer(*c);
    }
    const bool room_here = o.connections < options_.max_connections_per_host;
    if (room_here && (connections_.size() < options_.max_connections || drop_an_idle_one())) {
        open(o, std::move(job));
    } else if (pipeline(o, job)) {
        return;
    } else if (waiting_ >= options_.max_waiting && !job->pipelined) {
        deliver_later(std::move(job),
                      {errc::queue_full, "more than " + std::to_string(waiting_) +
                                             " requests are waiting for a connection"});
    } else {
        ++waiting_;
        o.waiting.push_back(std::move(job));
        update_starved(o);
    }
}

bool client_core::pipeline(client_origin& o, std::unique_ptr<client_job>& job) {
    if (options_.max_pipelined <= 1 || o.unpipelined || !o.waiting.empty()) return false;
    client_connection* best = nullptr;
    for (auto& [c, owned] : connections_) {
        if (&c->origin() == &o && c->accepts(*job) &&
            (best == nullptr || c->behind() < best->behind()))
            best = c;
    }
    return best != nullptr && best->append(job);
}

void client_core::settle(std::unique_ptr<client_job> job, result<reply> got) {
    if (!job->done) return;  // it was cancelled
    switch (policy_.judge(*job, got, loop_->now())) {
    case client_policy::verdict::deliver: deliver(std::move(job), std::move(got)); break;
    case client_policy::verdict::send:
        job->resent = false;
        submit(std::move(job));
        break;
    case client_policy::verdict::wait: {
        job->resent = false;
        client_plan& plan = *job->plan;
        plan.owner = this;
        plan.waiting.emplace(&client_core::send_again, job.get());
        loop_->arm_after(*plan.waiting, plan.pause);
        park(std::move(job));
    }
    }
}

// An answer in pieces that the policy might have acted on, and has not, is here as a whole.
void client_core::deliver(std::unique_ptr<client_job> job, result<reply> got) {
    if (got && job->streamed != nullptr && job->streamed->in_pieces && !job->streamed->committed) {
        buffer body = std::move(reply_access::body(*got));
        client_job* const raw = park(std::move(job));
        client_transfer& t = *raw->streamed;
        t.committed = true;
        if (t.head) t.head(*got);
        if (!parked_.contains(raw)) return;  // cancelled
        if (t.data && !body.empty()) t.data(body.view());
        if (!parked_.contains(raw)) return;
        job = unpark(raw);
    }
    job->done(std::move(got));
}

void client_core::deliver_later(std::unique_ptr<client_job> job, error why) {
    if (alive_ == nullptr) alive_ = std::make_shared<char>();
    client_job* const raw = job.get();
    if (why.message.find(raw->request.url) == std::string::npos)
        why.message = raw->request.url + ": " + why.message;
    undelivered_.emplace(raw, std::move(job));
    loop_->post([this, raw, why = std::move(why), alive = std::weak_ptr<char>(alive_)]() mutable {
        if (alive.expired()) return;
        const auto it = undelivered_.find(raw);
        auto job = std::move(it->second);
        undelivered_.erase(it);
        job->done(std::move(why));
    });
}

client_job* client_core::park(std::unique_ptr<client_job> job) {
    client_job* const raw = job.get();
    parked_.emplace(raw, std::move(job));
    return raw;
}

std::unique_ptr<client_job> client_core::unpark(client_job* raw) {
    const auto it = parked_.find(raw);
    auto job = std::move(it->second);
    parked_.erase(it);
    return job;
}

void client_core::send_again(void* waited) {
    auto* const job = static_cast<client_job*>(waited);
    auto& self = *static_cast<client_core*>(job->plan->owner);
    self.submit(self.unpark(job));
}

template <typename Is> std::unique_ptr<client_job> client_core::withdraw(Is is) {
    for (auto& [c, owned] : connections_) {
        const client_job* const found = c->find(is);
        if (found == nullptr) continue;
        if (auto job = c->forget(*found)) return job;
        client_origin& o = c->origin();
        auto job = c->abandon();
        for (auto& behind : c->take_behind()) {
            // The jobs before it were cancelled earlier: their answers are for nobody.
            if (behind.get() == found) job = std::move(behind);
        }
        defer(*c);
        freed(o);
        return job;
    }
    for (auto& [raw, parked] : parked_) {
        if (!is(*raw)) continue;
        // Otherwise it would be sent again before the caller is told of its end.
        if (raw->plan != nullptr) raw->plan->waiting.reset();
        return unpark(raw);
    }
    for (auto& [name, o] : origins_) {
        const auto it = std::find_if(o.waiting.begin(), o.waiting.end(),
                                     [&](const auto& job) { return is(*job); });
        if (it == o.waiting.end()) continue;
        auto job = std::move(*it);
        o.waiting.erase(it);
        --waiting_;
        update_starved(o);
        tidy(o);
        return job;
    }
    return nullptr;
}

void client_core::out_of_time(void* late) {
    auto* const job = static_cast<client_job*>(late);
    auto& self = *static_cast<client_core*>(job->owner);
    const auto limit = job->timeouts(self.options_).total_timeout;
    auto mine = self.withdraw([job](const client_job& j) { return &j == job; });
    if (mine == nullptr) return;  // it is over, and about to be told so
    self.deliver_later(
        std::move(mine),
        {errc::timed_out, "total: not finished within " + std::to_string(limit.count()) + " ms"});
}

void client_core::cancel(request_id id) {
    if (id == 0) return;  // no request's, but that of answers that nobody waits for
    auto job = withdraw([id](const client_job& j) { return j.id == id; });
    if (job != nullptr) deliver_later(std::move(job), errc::cancelled);
}

client_connection* client_core::carrier_of(request_id id) noexcept {
    for (auto& [c, owned] : connections_) {
        if (c->job() != nullptr && c->job()->id == id) return c;
    }
    return nullptr;
}

void client_core::pause(request_id id) {
    if (auto* const c = carrier_of(id)) c->pause();
}
void client_core::resume(request_id id) {
    if (auto* const c = carrier_of(id)) c->resume();
}
void client_core::resume_body(request_id id) {
    if (auto* const c = carrier_of(id)) c->resume_body();
}

// ---- what connections tell ----

void client_core::answered(std::unique_ptr<client_job> done, result<reply> got) {
    settle(std::move(done), std::move(got));
}

void client_core::has_room(client_connection& c) {
    client_origin& o = c.origin();
    if (options_.max_pipelined <= 1 || o.unpipelined) return;
    while (!o.waiting.empty() && c.append(o.waiting.front())) take_waiting(o);
}

void client_core::became_idle(client_connection& c, std::unique_ptr<client_job> done,
                              result<reply> got) {
    if (busy_ == &c) busy_ = nullptr;
    client_origin& o = c.origin();
    client_origin* const to = waiting_ == 0 ? nullptr : next_in_line(o);
    if (to != nullptr) {
        auto job = take_waiting(*to);
        if (to != &o || !c.start(job)) {
            c.abandon();
            defer(c);
            submit(*to, std::move(job));
            tidy(o);
        } else {
            has_room(c);
        }
    } else {
        o.idle.push_back(&c);
        if (o.idle.size() > options_.max_idle_per_host) {
            client_connection* const oldest = o.idle.front();
            o.idle.erase(o.idle.begin());
            oldest->abandon();
            defer(*oldest);
            tidy(o);  // where none is kept, it was the last
        }
    }
    settle(std::move(done), std::move(got));
}

void client_core::ended(client_connection& c, std::unique_ptr<client_job> job, result<reply> got,
                        bool may_retry) {
    client_origin& o = c.origin();
    std::erase(o.idle, &c);
    auto again = c.take_behind();
    // An answer that announces the end ("Connection: close") is no failure: a server may count
    // requests.
    if (!got && (!again.empty() || (job != nullptr && job->pipelined))) stop_pipelining(o);
    defer(c);
    if (may_retry) {
        job->resent = true;
        // First in line: the place of the connection that is gone is free for it.
        again.insert(again.begin(), std::move(job));
    }
    std::erase_if(again, [](const auto& j) { return !j->done; });
    if (again.empty()) freed(o);
    for (auto& j : again) submit(o, std::move(j));
    if (job != nullptr) settle(std::move(job), std::move(got));
}

// ---- connections and origins ----

client_origin& client_core::origin_of(const url& to) {
    const bool forwarded = wire::detail::is_forwarded(to, options_);
    const auto [it, fresh] = origins_.try_emplace(
        forwarded ? "by proxy" : to.scheme + "://" + to.host + ":" + std::to_string(to.port));
    if (fresh) {
        it->second.name = &it->first;
        it->second.authority = to.authority();
        it->second.to = *wire::detail::route_to(to, options_);
        it->second.forwarded = forwarded;
        it->second.unpipelined = unpipelined_.contains(it->first);
    }
    return it->second;
}

void client_core::open(client_origin& o, std::unique_ptr<client_job> job) {
    auto c = std::make_unique<client_connection>(*this, o);
    client_connection& made = *c;
    connections_.emplace(&made, std::move(c));
    ++o.connections;
    update_starved(o);
    busy_ = &made;
    made.open(std::move(job));
}

bool client_core::drop_an_idle_one() {
    for (auto& [name, o] : origins_) {
        if (o.idle.empty()) continue;
        client_connection* const c = o.idle.front();
        o.idle.erase(o.idle.begin());
        c->abandon();
        defer(*c);
        tidy(o);
        return true;
    }
    return false;
}

void client_core::stop_pipelining(client_origin& o) {
    if (unpipelined_.size() >= 1000) unpipelined_.erase(unpipelined_.begin());
    unpipelined_.insert(*o.name);
    o.unpipelined = true;
}

client_origin* client_core::next_in_line(client_origin& o) noexcept {
    client_origin* const other = starved_.empty() ? nullptr : starved_.front();
    if (o.waiting.empty()) return other;
    return other == nullptr || o.waiting.front()->id <= other->waiting.front()->id ? &o : other;
}

std::unique_ptr<client_job> client_core::take_waiting(client_origin& o) {
    auto job = std::move(o.waiting.front());
    o.waiting.pop_front();
    --waiting_;
    if (std::exchange(o.starved, false)) std::erase(starved_, &o);
    update_starved(o);  // to the end of that line, if there are more
    return job;
}

void client_core::update_starved(client_origin& o) {
    const bool starves = !o.waiting.empty() && o.connections < options_.max_connections_per_host;
    if (starves == std::exchange(o.starved, starves)) return;
    if (starves) {
        starved_.push_back(&o);
    } else {
        std::erase(starved_, &o);
    }
}

void client_core::freed(client_origin& o) {
    if (client_origin* const to = next_in_line(o)) submit(*to, take_waiting(*to));
    tidy(o);
}

void client_core::tidy(client_origin& o) {
    if (o.connections != 0 || !o.waiting.empty()) return;
    if (last_.origin == &o) last_.origin = nullptr;
    origins_.erase(*o.name);
}

void client_core::defer(client_connection& c) {
    if (busy_ == &c) busy_ = nullptr;
    const auto it = connections_.find(&c);
    --c.origin().connections;
    update_starved(c.origin());
    deferred_deletion_.defer(*loop_, std::move(it->second));
    connections_.erase(it);
}

}  // namespace wire::http::detail
