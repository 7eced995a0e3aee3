#include "wire/client/client.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "../loop/graveyard.hpp"
#include "connection.hpp"
#include "resolver.hpp"

namespace wire::http {

// All connections to one scheme, host and port.
struct client_origin {
    std::vector<client_connection*> idle;  // most recently used last
    std::deque<std::unique_ptr<client_job>> waiting;
    std::size_t connections = 0;           // open, opening or being looked up
};

struct async_client::state final : client_owner {
    state(event_loop& l, client_options o) : loop_(&l), options_(std::move(o)), resolver_(l) {}

    event_loop& loop() noexcept override { return *loop_; }
    const client_options& options() const noexcept override { return options_; }
    bool eager() const noexcept override { return eager_; }
    result<std::shared_ptr<wire::tls::client_context>> tls() override {
        if (options_.tls == nullptr) {
            auto made = wire::tls::client_context::create();
            if (!made) return made;
            options_.tls = *std::move(made);
        }
        return options_.tls;
    }

    void submit(std::unique_ptr<client_job> job) {
        client_origin& o = origins_[job->url.scheme + "://" + job->url.host + ":" + std::to_string(job->url.port)];
        while (!o.idle.empty()) {
            client_connection* const c = o.idle.back();
            o.idle.pop_back();
            if (c->start(job)) return;
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
        ++o.connections;
        if (auto literal = address::parse(job->url.host, job->url.port)) {
            connect(o, {*literal}, std::move(job));
            return;
        }
        client_job* const parked = park(std::move(job));
        resolver_.resolve(parked->url.host, parked->url.port, [this, &o, parked](result<std::vector<address>> found) {
            auto job = unpark(parked);
            if (found) {
                connect(o, *std::move(found), std::move(job));
            } else {
                --o.connections;
                next(o);
                job->done(found.error());
            }
        });
    }

    // Jobs that a posted call or a look-up will come back for; here they are seen when the client is destroyed before.
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
            if (!alive.expired()) unpark(parked)->done(std::move(got));
        });
    }

    void connect(client_origin& o, std::vector<address> to, std::unique_ptr<client_job> job) {
        auto c = std::make_unique<client_connection>(*this, o);
        client_connection& made = *c;
        connections_.emplace(&made, std::move(c));
        ++opened_;
        made.open(std::move(to), std::move(job));
    }

    // A place has become free.
    void next(client_origin& o) {
        if (o.waiting.empty()) return;
        auto job = std::move(o.waiting.front());
        o.waiting.pop_front();
        submit(std::move(job));
    }

    void became_idle(client_connection& c, std::unique_ptr<client_job> done, result<reply> got) override {
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
        done->done(std::move(got));
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
            job->done(std::move(got));
        }
    }

    void bury(client_connection& c) {
        const auto it = connections_.find(&c);
        --c.origin().connections;
        graveyard_.bury(*loop_, std::move(it->second));
        connections_.erase(it);
    }

    event_loop* loop_;
    client_options options_;
    wire::detail::resolver resolver_;
    std::unordered_map<std::string, client_origin> origins_;
    std::unordered_map<client_connection*, std::unique_ptr<client_connection>> connections_;
    wire::detail::graveyard<client_connection> graveyard_;
    std::unordered_map<client_job*, std::unique_ptr<client_job>> parked_;
    std::shared_ptr<char> alive_ = std::make_shared<char>();
    std::uint64_t opened_ = 0;
    bool eager_ = false;
    bool submitting_ = false;
};

async_client::async_client(event_loop& loop, client_options options)
    : state_(std::make_unique<state>(loop, std::move(options))) {}

async_client::~async_client() {
    state& s = *state_;
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
    } else {
        refused = parsed.error();
    }
    if (refused) {
        state_->finish_later(std::move(job), std::move(refused));
        return;
    }
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
    while (!got) loop_->run_once();
    return *std::move(got);
}

}  // namespace wire::http
