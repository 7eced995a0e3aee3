#include "wire/client/client.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "../loop/graveyard.hpp"
#include "connection.hpp"

namespace wire::http {

struct async_client::state final : client_owner {
    state(event_loop& l, client_options o) : loop_(&l), options_(std::move(o)), policy_(options_), opening_(l) {}

    event_loop& loop() noexcept override { return *loop_; }
    wire::detail::opening_base& opening() noexcept override { return opening_; }
    void opened() noexcept override { ++opened_; }
    const client_options& options() const noexcept override { return options_; }
    bool eager() const noexcept override { return eager_; }

    // What a malformed proxy makes impossible is refused in send().
    client_origin& origin_of(const url& to) {
        const bool forwarded = !options_.proxy.empty() && !to.secure() && !wire::detail::goes_direct(options_.no_proxy, to);
        const auto [it, fresh] =
            origins_.try_emplace(forwarded ? "by proxy" : to.scheme + "://" + to.host + ":" + std::to_string(to.port));
        if (fresh) {
            it->second.to = *wire::detail::route_to(to, options_);
            it->second.forwarded = forwarded;
        }
        return it->second;
    }

    void complete(client_job& job) override { policy_.complete(job); }

    void submit(std::unique_ptr<client_job> job) {
        client_origin& o = origin_of(job->url);
        while (!o.idle.empty()) {
            client_connection* const c = o.idle.back();
            o.idle.pop_back();
            if (c->start(job)) {
                busy_ = c;
                return;
            }
            c->abandon();
            bury(*c);
        }
        if (o.connections < options_.max_connections_per_host) {
            open(o, std::move(job));
        } else {
            o.waiting.push_back(std::move(job));
        }
    }

    void open(client_origin& o, std::unique_ptr<client_job> job) {
        auto c = std::make_unique<client_connection>(*this, o);
        client_connection& made = *c;
        connections_.emplace(&made, std::move(c));
        ++o.connections;
        made.open(std::move(job));
    }

    // Jobs that a posted call will come back for; here they are seen when the client is destroyed before.
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
    void finish_later(std::unique_ptr<client_job> job, result<reply> got) {
        loop_->post([this, parked = park(std::move(job)), got = std::move(got), alive = std::weak_ptr<char>(alive_)]() mutable {
            if (!alive.expired()) settle(unpark(parked), std::move(got));
        });
    }

    // What has come of a request: the caller's, unless the policy sends another.
    void settle(std::unique_ptr<client_job> job, result<reply> got) {
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

    // A place has become free.
    void next(client_origin& o) {
        if (o.waiting.empty()) return;
        auto job = std::move(o.waiting.front());
        o.waiting.pop_front();
        submit(std::move(job));
    }

    // The blocking client: waits for the answer on the kept connection that took its request. False when that will not do.
    bool turn_alone() noexcept { return busy_ != nullptr && busy_->is_open() && busy_->turn_alone(); }

    void became_idle(client_connection& c, std::unique_ptr<client_job> done, result<reply> got) override {
        if (busy_ == &c) busy_ = nullptr;
        client_origin& o = c.origin();
        if (!o.waiting.empty()) {
            auto job = std::move(o.waiting.front());
            o.waiting.pop_front();
            if (!c.start(job)) {
                c.abandon();
                bury(c);
                submit(std::move(job));
            }
        } else {
            o.idle.push_back(&c);
            if (o.idle.size() > options_.max_idle_per_host) {
                client_connection* const oldest = o.idle.front();
                o.idle.erase(o.idle.begin());
                oldest->abandon();
                bury(*oldest);
            }
        }
        settle(std::move(done), std::move(got));
    }

    void ended(client_connection& c, std::unique_ptr<client_job> job, result<reply> got, bool may_retry) override {
        client_origin& o = c.origin();
        std::erase(o.idle, &c);
        bury(c);
        if (job != nullptr && may_retry) {
            submit(std::move(job));
            return;
        }
        next(o);
        if (job == nullptr) return;
        if (submitting_) {  // never from inside send()
            finish_later(std::move(job), std::move(got));
        } else {
            settle(std::move(job), std::move(got));
        }
    }

    void bury(client_connection& c) {
        if (busy_ == &c) busy_ = nullptr;
        const auto it = connections_.find(&c);
        --c.origin().connections;
        graveyard_.bury(*loop_, std::move(it->second));
        connections_.erase(it);
    }

    event_loop* loop_;
    client_options options_;
    client_policy policy_;
    wire::detail::opening_base opening_;
    std::unordered_map<std::string, client_origin> origins_;
    std::unordered_map<client_connection*, std::unique_ptr<client_connection>> connections_;
    wire::detail::graveyard<client_connection> graveyard_;
    std::unordered_map<client_job*, std::unique_ptr<client_job>> parked_;
    std::shared_ptr<char> alive_ = std::make_shared<char>();
    client_connection* busy_ = nullptr;  // the last that was used again, while it is
    std::uint64_t opened_ = 0;
    bool eager_ = false;
    bool submitting_ = false;
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
    }
    for (auto& [raw, job] : s.parked_) unfinished.push_back(std::move(job));
    s.parked_.clear();
    for (auto& [name, o] : s.origins_) {
        for (auto& job : o.waiting) unfinished.push_back(std::move(job));
        o.waiting.clear();
    }
    for (const auto& job : unfinished) job->done(error(errc::stopped, job->request.url + ": the client is gone"));
}

void async_client::send(client_request request, callback done) {
    if (state_->stopping_) {  // by a callback that has just been told so
        state_->loop_->post([done = std::move(done)]() mutable { done(error(errc::stopped, "the client is gone")); });
        return;
    }
    auto job = std::make_unique<client_job>();
    job->request = std::move(request);
    job->done = std::move(done);
    error refused;
    if (auto parsed = parse_url(job->request.url)) {
        job->url = *std::move(parsed);
        if (job->url.websocket()) refused = {errc::bad_url, job->request.url + ": this client is for http:// and https:// URLs"};
        if (to_string(job->request.method).empty() || job->request.method == method::connect) {
            refused = {errc::bad_argument, job->request.url + ": not a method for this client"};
        }
        if (const auto& proxy = state_->options_.proxy; !proxy.empty()) {
            if (auto good = wire::detail::parse_proxy(proxy); !good) refused = good.error();
        }
    } else {
        refused = parsed.error();
    }
    if (refused) {
        state_->finish_later(std::move(job), std::move(refused));
        return;
    }
    state_->policy_.begin(*job, state_->loop_->now());
    state_->submitting_ = true;
    state_->submit(std::move(job));
    state_->submitting_ = false;
}

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
    auto loop = event_loop::create();
    if (!loop) return loop.error();
    auto async = std::make_unique<async_client>(**loop, std::move(options));
    async->state_->eager_ = true;
    return client(*std::move(loop), std::move(async));
}

result<reply> client::send(client_request request) {
    std::optional<result<reply>> got;
    loop_->refresh_now();
    async_->send(std::move(request), [&got](result<reply> r) { got.emplace(std::move(r)); });
    while (!got) {
        if (!async_->state_->turn_alone()) loop_->run_once();
    }
    return *std::move(got);
}

}  // namespace wire::http
