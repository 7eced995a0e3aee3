// A client on a thread of its own. Calls are posted to the thread's loop; answers go the way that
// the caller chose.
//
//     state      entered when               calls                  the thread
//     running    create() has returned      posted                 runs the loop
//     stopping   the first stop()           refused: errc::stopped runs what was posted before;
//                                                                  then stops_here()
//     ended      all callbacks were called  refused                ends
//
// Every call is posted under `mutex`, and so is stops_here(): what was posted before it has run by
// then, and nothing comes after it. The thread holds a reference to the state, so that a callback
// may destroy the client.
#include "wire/client/shared_client.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

namespace wire {

namespace detail {

namespace {

error gone(const std::string& url) { return {errc::stopped, url + ": the client is gone"}; }

}  // namespace

struct shared_client_state {
    // False, with `work` untouched, once the client stops.
    template <typename Work> bool post(Work& work) {
        const std::lock_guard lock(mutex);
        if (stopping) return false;
        loop->post(std::move(work));
        return true;
    }
    http::request_id start(http::client_request request, shared_client::callback done);
    // Whether a wait for an answer would be one for itself. A thread that came later may have the
    // number of one that has ended.
    bool would_wait_for_itself() {
        const std::lock_guard lock(mutex);
        return !stopping && loop->in_loop_thread();
    }

    // ---- the client's thread ----

    void run() {
        loop->run();
        // What callbacks still posted to the loop while the client and the dialer ended.
        while (loop->core().has_posted()) loop->run_once(clock::duration::zero());
        const std::lock_guard lock(mutex);
        ended = true;
        is_ended.notify_all();
    }
    void begin(http::request_id id, http::client_request request, shared_client::callback done) {
        const auto mine =
            client->send(std::move(request),
                         [this, id, done = std::move(done)](result<http::reply> got) mutable {
                             under_way.erase(id);
                             if (done) done(std::move(got));
                         });
        under_way.emplace(id, mine);
    }
    void stops_here() {
        dialer.reset();
        client.reset();
        loop->stop();
    }

    std::unique_ptr<event_loop> loop;
    std::thread thread;  // of shared_client alone
    std::atomic<http::request_id> last_id{0};
    std::mutex mutex;
    std::condition_variable is_ended;
    bool stopping = false;  // guarded by mutex
    bool ended = false;     // guarded by mutex
    // The following are the client's thread's from its start.
    std::optional<http::async_client> client;
    std::optional<ws::dialer> dialer;
    std::unordered_map<http::request_id, http::request_id> under_way;  // our ids to `client`'s
};

http::request_id shared_client_state::start(http::client_request request,
                                            shared_client::callback done) {
    struct call {
        void operator()() { self->begin(id, std::move(request), std::move(done)); }
        shared_client_state* self;
        http::request_id id;
        http::client_request request;
        shared_client::callback done;
    };
    const http::request_id id = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
    call made{this, id, std::move(request), std::move(done)};
    if (!post(made) && made.done) made.done(gone(made.request.url));
    return id;
}

}  // namespace detail

shared_client::shared_client(std::shared_ptr<detail::shared_client_state> s) noexcept
    : state_(std::move(s)) {}

result<std::unique_ptr<shared_client>> shared_client::create(http::client_options options,
                                                             const loop_options& loop) {
    auto made = event_loop::create(loop);
    if (!made) return made.error();
    auto s = std::make_shared<detail::shared_client_state>();
    s->loop = *std::move(made);
    s->client.emplace(*s->loop, std::move(options));
    s->dialer.emplace(*s->loop);
    try {
        s->thread = std::thread([s] { s->run(); });
    } catch (const std::system_error& e) {
        return error(errc::system_error, std::string("cannot start a thread: ") + e.what());
    }
    return std::unique_ptr<shared_client>(new shared_client(std::move(s)));
}

shared_client::~shared_client() {
    stop();
    if (state_->thread.get_id() == std::this_thread::get_id()) {
        state_->thread.detach();
    } else {
        state_->thread.join();
    }
}

void shared_client::stop() {
    detail::shared_client_state& s = *state_;
    std::unique_lock lock(s.mutex);
    if (!std::exchange(s.stopping, true)) s.loop->post([&s] { s.stops_here(); });
    if (!s.loop->in_loop_thread()) s.is_ended.wait(lock, [&s] { return s.ended; });
}

// ---- requests ----

result<http::reply> shared_client::send(http::client_request request) {
    if (state_->would_wait_for_itself())
        return error(errc::bad_argument,
                     request.url + ": a call that waits, on the client's own thread");
    // From here on the client may go: only the answer is waited for.
    return submit(std::move(request)).get();
}

http::request_id shared_client::send(http::client_request request, callback done) {
    return state_->start(std::move(request), std::move(done));
}

std::future<result<http::reply>> shared_client::submit(http::client_request request) {
    std::promise<result<http::reply>> answer;
    auto later = answer.get_future();
    state_->start(std::move(request),
                  [answer = std::move(answer)](result<http::reply> got) mutable {
                      answer.set_value(std::move(got));
                  });
    return later;
}

void shared_client::cancel(http::request_id id) {
    auto work = [s = state_.get(), id] {
        const auto at = s->under_way.find(id);
        if (at != s->under_way.end()) s->client->cancel(at->second);
    };
    state_->post(work);
}

// ---- what belongs to the client's thread ----

void shared_client::dial(std::string url, ws::dial_options options, ws::dialer::callback opened) {
    struct call {
        void operator()() { self->dialer->dial(url, std::move(options), std::move(opened)); }
        detail::shared_client_state* self;
        std::string url;
        ws::dial_options options;
        ws::dialer::callback opened;
    };
    call made{state_.get(), std::move(url), std::move(options), std::move(opened)};
    if (!state_->post(made)) made.opened(detail::gone(made.url));
}

bool shared_client::on_loop(unique_function<void(http::async_client&)> work) {
    auto call = [s = state_.get(), work = std::move(work)]() mutable { work(*s->client); };
    return state_->post(call);
}

}  // namespace wire
