#include "wire/client/client.hpp"

#include <algorithm>
#include <list>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "connection.hpp"
#include "loop/blocking_loop.hpp"
#include "loop/deferred_deletion.hpp"

namespace wire::http {

struct async_client::state final : client_owner {
    state(event_loop& l, client_options o)
        : loop_(&l),
          options_(std::move(o)),
          policy_(options_),
          opening_(l),
          in_pieces_(options_.limits) {
        in_pieces_.max_body_bytes = options_.max_streamed_bytes;
    }

    event_loop& loop() noexcept override { return *loop_; }
    wire::detail::opening_base& opening() noexcept override { return opening_; }
    void opened() noexcept override { ++opened_; }
    const client_options& options() const noexcept override { return options_; }
    bool eager() const noexcept override { return opening_.blocking; }
    bool may_act_on(const client_job& job, const reply& head) override {
        return policy_.may_act_on(job, head);
    }
    std::optional<body_decoder> decoder_of(const client_job& job, const reply& head) override {
        return client_policy::decoder_of(job, head, in_pieces_);
    }
    const limits& bounds(bool in_pieces) const noexcept override {
        return in_pieces ? in_pieces_ : options_.limits;
    }

    // What a malformed proxy makes impossible is refused in send().
    client_origin& origin_of(const url& to) {
        const bool forwarded = !options_.proxy.empty() && !to.secure() &&
                               !wire::detail::goes_direct(options_.no_proxy, to);
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

    void complete(client_job& job) override { policy_.complete(job); }

    request_id begin(std::unique_ptr<client_job> job) {
        const request_id id = job->id = ++last_id_;
        if (stopping_) {  // by a callback that has just been told so
            loop_->post([job = std::move(job)] {
                job->done(error(errc::stopped, job->request.url + ": the client is gone"));
            });
            return id;
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
        policy_.begin(*job, loop_->now());
        if (const auto limit = job->timeouts(options_).total_timeout; limit.count() > 0) {
            job->owner = this;
            job->deadline.emplace(&state::out_of_time, job.get());
            loop_->arm_after(*job->deadline, limit);
        }
        client_origin& o = *last_.origin;
        submit(o, std::move(job));
        tidy(o);
        return id;
    }

    error check(client_job& job) {
        auto parsed = parse_url(job.request.url);
        if (!parsed) return parsed.error();
        if (parsed->websocket())
            return {errc::bad_url, "this client is for http:// and https:// URLs"};
        if (!options_.proxy.empty()) {
            if (auto good = wire::detail::parse_proxy(options_.proxy); !good) return good.error();
        }
        job.url = *std::move(parsed);
        return {};
    }

    void submit(std::unique_ptr<client_job> job) {
        client_origin& o = origin_of(job->url);
        submit(o, std::move(job));
    }

    void submit(client_origin& o, std::unique_ptr<client_job> job) {
        while (!o.idle.empty()) {
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
            if (room_here && !std::exchange(o.starved, true)) starved_.push_back(&o);
        }
    }

    // Behind others, where it would have to wait for them anyway.
    bool pipeline(client_origin& o, std::unique_ptr<client_job>& job) {
        if (options_.max_pipelined <= 1 || o.unpipelined || !o.waiting.empty()) return false;
        client_connection* best = nullptr;
        for (auto& [c, owned] : connections_) {
            if (&c->origin() == &o && c->accepts(*job) &&
                (best == nullptr || c->behind() < best->behind()))
                best = c;
        }
        return best != nullptr && best->append(job);
    }
    void has_room(client_connection& c) override {
        client_origin& o = c.origin();
        if (options_.max_pipelined <= 1 || o.unpipelined) return;
        while (!o.waiting.empty() && c.append(o.waiting.front())) take_waiting(o);
    }
    // For as long as the client lives, or a thousand others have done so since.
    void stop_pipelining(client_origin& o) {
        if (unpipelined_.size() >= 1000) unpipelined_.erase(unpipelined_.begin());
        unpipelined_.insert(*o.name);
        o.unpipelined = true;
    }

    bool drop_an_idle_one() {
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

    void open(client_origin& o, std::unique_ptr<client_job> job) {
        auto c = std::make_unique<client_connection>(*this, o);
        client_connection& made = *c;
        connections_.emplace(&made, std::move(c));
        ++o.connections;
        busy_ = &made;
        made.open(std::move(job));
    }

    client_job* park(std::unique_ptr<client_job> job) {
        client_job* const raw = job.get();
        parked_.emplace(raw, std::move(job));
        return raw;
    }
    std::unique_ptr<client_job> unpark(client_job* raw) {
        const auto it = parked_.find(raw);
        auto job = std::move(it->second);
        parked_.erase(it);
        return job;
    }
    void deliver_later(std::unique_ptr<client_job> job, error why) {
        if (alive_ == nullptr) alive_ = std::make_shared<char>();
        client_job* const raw = job.get();
        if (why.message.find(raw->request.url) == std::string::npos)
            why.message = raw->request.url + ": " + why.message;
        over_.emplace(raw, std::move(job));
        loop_->post(
            [this, raw, why = std::move(why), alive = std::weak_ptr<char>(alive_)]() mutable {
                if (alive.expired()) return;
                const auto it = over_.find(raw);
                auto job = std::move(it->second);
                over_.erase(it);
                job->done(std::move(why));
            });
    }

    // Takes a request from wherever it is; null when it is over.
    template <typename Is> std::unique_ptr<client_job> withdraw(Is is) {
        for (auto& [c, owned] : connections_) {
            const client_job* const found = c->find(is);
            if (found == nullptr) continue;
            if (auto job = c->forget(*found)) return job;
            client_origin& o = c->origin();
            auto job = c->abandon();
            for (auto& behind : c->take_behind()) {
                // Those before it are for nobody.
                if (behind.get() == found) job = std::move(behind);
            }
            defer(*c);
            freed(o);
            return job;
        }
        for (auto& [raw, parked] : parked_) {
            if (!is(*raw)) continue;
            // Or it would be sent again before its end is told.
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
            if (o.starved && o.waiting.empty()) {
                std::erase(starved_, &o);
                o.starved = false;
            }
            tidy(o);
            return job;
        }
        return nullptr;
    }

    static void out_of_time(void* late) {
        auto* const job = static_cast<client_job*>(late);
        auto& self = *static_cast<state*>(job->owner);
        const auto limit = job->timeouts(self.options_).total_timeout;
        auto mine = self.withdraw([job](const client_job& j) { return &j == job; });
        if (mine == nullptr) return;  // it is over, and about to be told so
        self.deliver_later(std::move(mine),
                           {errc::timed_out,
                            "total: not finished within " + std::to_string(limit.count()) + " ms"});
    }

    client_connection* carrier_of(request_id id) noexcept {
        for (auto& [c, owned] : connections_) {
            if (c->job() != nullptr && c->job()->id == id) return c;
        }
        return nullptr;
    }

    // What has come of a request: the caller's, unless the policy sends another.
    void settle(std::unique_ptr<client_job> job, result<reply> got) {
        if (!job->done) return;  // it was cancelled
        switch (policy_.judge(*job, got, loop_->now())) {
        case client_policy::verdict::deliver: job->done(std::move(got)); break;
        case client_policy::verdict::send: submit(std::move(job)); break;
        case client_policy::verdict::wait: {
            client_plan& plan = *job->plan;
            plan.owner = this;
            plan.waiting.emplace(&state::send_again, job.get());
            loop_->arm_after(*plan.waiting, plan.pause);
            park(std::move(job));
        }
        }
    }

    static void send_again(void* waited) {
        auto* const job = static_cast<client_job*>(waited);
        auto& self = *static_cast<state*>(job->plan->owner);
        self.submit(self.unpark(job));
    }

    // The request that a free place is for: one that waits for a place at `o`, or for any at all,
    // whichever came first.
    client_origin* next_in_line(client_origin& o) noexcept {
        client_origin* const other = starved_.empty() ? nullptr : starved_.front();
        if (o.waiting.empty()) return other;
        return other == nullptr || o.waiting.front()->id <= other->waiting.front()->id ? &o : other;
    }
    std::unique_ptr<client_job> take_waiting(client_origin& o) noexcept {
        auto job = std::move(o.waiting.front());
        o.waiting.pop_front();
        --waiting_;
        if (o.starved) {  // to the end of that line, if there are more
            std::erase(starved_, &o);
            o.starved = !o.waiting.empty();
            if (o.starved) starved_.push_back(&o);
        }
        return job;
    }

    // A place has become free, `o` perhaps empty.
    void freed(client_origin& o) {
        if (client_origin* const to = next_in_line(o)) submit(*to, take_waiting(*to));
        tidy(o);
    }

    // What a client has ever asked is not kept.
    void tidy(client_origin& o) {
        if (o.connections != 0 || !o.waiting.empty()) return;
        if (last_.origin == &o) last_.origin = nullptr;
        origins_.erase(*o.name);
    }

    // The blocking client: waits for the answer on the connection that took its request last. False
    // when that will not do.
    bool run_alone() noexcept { return busy_ != nullptr && busy_->run_alone(); }

    void became_idle(client_connection& c, std::unique_ptr<client_job> done,
                     result<reply> got) override {
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
            }
        }
        settle(std::move(done), std::move(got));
    }

    void answered(std::unique_ptr<client_job> done, result<reply> got) override {
        settle(std::move(done), std::move(got));
    }

    void ended(client_connection& c, std::unique_ptr<client_job> job, result<reply> got,
               bool may_retry) override {
        client_origin& o = c.origin();
        std::erase(o.idle, &c);
        auto again = c.take_behind();
        // An answer that announces the end ("Connection: close") is no failure: a server may count
        // requests.
        if (!got && (!again.empty() || (job != nullptr && job->pipelined))) stop_pipelining(o);
        defer(c);
        if (may_retry) again.insert(again.begin(), std::move(job));
        std::erase_if(again, [](const auto& j) { return !j->done; });
        if (again.empty()) freed(o);
        for (auto& j : again) submit(o, std::move(j));
        if (job != nullptr) settle(std::move(job), std::move(got));
    }

    void defer(client_connection& c) {
        if (busy_ == &c) busy_ = nullptr;
        const auto it = connections_.find(&c);
        --c.origin().connections;
        deferred_deletion_.defer(*loop_, std::move(it->second));
        connections_.erase(it);
    }

    event_loop* loop_;
    client_options options_;
    client_policy policy_;
    wire::detail::opening_base opening_;
    std::unordered_map<std::string, client_origin> origins_;
    std::unordered_map<client_connection*, std::unique_ptr<client_connection>> connections_;
    wire::detail::deferred_deletion<client_connection> deferred_deletion_;
    std::unordered_set<std::string> unpipelined_;  // origins by name
    // To be sent again after a pause.
    std::unordered_map<client_job*, std::unique_ptr<client_job>> parked_;
    // To be told so by a posted call.
    std::unordered_map<client_job*, std::unique_ptr<client_job>> over_;
    std::list<client_origin*> starved_;  // whose requests wait for a place among all
    std::size_t waiting_ = 0;            // requests, at all origins
    limits in_pieces_;
    request_id last_id_ = 0;
    // Most programs ask for the same again and again.
    struct {
        std::string text;
        wire::url url;
        client_origin* origin = nullptr;
    } last_;
    std::shared_ptr<char> alive_;        // made when first asked after
    client_connection* busy_ = nullptr;  // the last that was given a request, while it has it
    std::uint64_t opened_ = 0;
    bool stopping_ = false;
};

async_client::async_client(event_loop& loop, client_options options)
    : state_(std::make_unique<state>(loop, std::move(options))) {}

async_client::~async_client() {
    state& s = *state_;
    s.stopping_ = true;
    std::vector<std::unique_ptr<client_job>> unfinished;
    for (auto& [c, owned] : s.connections_) {
        if (auto job = c->abandon()) unfinished.push_back(std::move(job));
        for (auto& job : c->take_behind()) unfinished.push_back(std::move(job));
    }
    std::erase_if(unfinished, [](const auto& job) { return !job->done; });
    for (auto* const jobs : {&s.parked_, &s.over_}) {
        for (auto& [raw, job] : *jobs) unfinished.push_back(std::move(job));
        jobs->clear();
    }
    for (auto& [name, o] : s.origins_) {
        for (auto& job : o.waiting) unfinished.push_back(std::move(job));
        o.waiting.clear();
    }
    for (const auto& job : unfinished)
        job->done(error(errc::stopped, job->request.url + ": the client is gone"));
}

request_id async_client::send(client_request request, callback done) {
    auto job = std::make_unique<client_job>();
    job->request = std::move(request);
    job->done = std::move(done);
    if (job->request.source) job->streamed = std::make_unique<client_transfer>();
    return state_->begin(std::move(job));
}

request_id async_client::send(client_request request, response_pieces to) {
    auto job = std::make_unique<client_job>();
    job->request = std::move(request);
    job->done = std::move(to.end);
    job->streamed = std::make_unique<client_transfer>();
    job->streamed->in_pieces = true;
    job->streamed->head = std::move(to.head);
    job->streamed->data = std::move(to.data);
    return state_->begin(std::move(job));
}

void async_client::cancel(request_id id) {
    auto job = state_->withdraw([id](const client_job& j) { return j.id == id; });
    if (job != nullptr) state_->deliver_later(std::move(job), errc::cancelled);
}

void async_client::pause(request_id id) {
    if (auto* const c = state_->carrier_of(id)) c->pause();
}
void async_client::resume(request_id id) {
    if (auto* const c = state_->carrier_of(id)) c->resume();
}
void async_client::resume_body(request_id id) {
    if (auto* const c = state_->carrier_of(id)) c->resume_body();
}

event_loop& async_client::loop() const noexcept { return *state_->loop_; }
std::uint64_t async_client::connections_opened() const noexcept { return state_->opened_; }

// ---- blocking ----

client::client(std::unique_ptr<event_loop> loop, std::unique_ptr<async_client> async) noexcept
    : loop_(std::move(loop)), async_(std::move(async)) {}
client::client(client&&) noexcept = default;
client& client::operator=(client&& other) noexcept {
    async_ = std::move(other.async_);  // before the loop that it needs
    loop_ = std::move(other.loop_);
    return *this;
}
client::~client() = default;

result<client> client::create(client_options options) {
    auto loop = wire::detail::blocking_loop();
    auto async = std::make_unique<async_client>(*loop, std::move(options));
    async->state_->opening_.blocking = true;
    return client(std::move(loop), std::move(async));
}

result<reply> client::send(client_request request) {
    std::optional<result<reply>> got;
    loop_->refresh_now();
    async_->send(std::move(request), [&got](result<reply> r) { got.emplace(std::move(r)); });
    while (!got) {
        if (!async_->state_->run_alone()) loop_->run_once();
    }
    return *std::move(got);
}

result<reply> client::send(client_request request,
                           const std::function<bool(std::string_view piece)>& sink) {
    std::optional<result<reply>> got;
    request_id id = 0;
    loop_->refresh_now();
    response_pieces to;
    to.data = [&](std::string_view piece) {
        if (!sink(piece)) async_->cancel(id);
    };
    to.end = [&got](result<reply> r) { got.emplace(std::move(r)); };
    id = async_->send(std::move(request), std::move(to));
    while (!got) {
        if (!async_->state_->run_alone()) loop_->run_once();
    }
    return *std::move(got);
}

}  // namespace wire::http
