// The public clients: both hand everything to a client_core, and the blocking one runs its loop
// until the answer has come.
#include "wire/client/client.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "client_core.hpp"
#include "loop/blocking_loop.hpp"
#include "loop/deferred_deletion.hpp"

namespace wire::http {

async_client::async_client(event_loop& loop, client_options options)
    : core_(std::make_unique<detail::client_core>(loop, std::move(options), false)) {}
// Callbacks that are told of the end may still call this client: it is whole until they are done.
// One that destroys it has the client's own code to return to.
async_client::~async_client() {
    event_loop& loop = core_->loop();
    core_->stop();
    wire::detail::destroy_after_callbacks(loop, std::move(core_));
}

request_id async_client::send(client_request request, callback done) {
    return core_->send(std::move(request), std::move(done));
}
request_id async_client::send(client_request request, response_pieces to) {
    return core_->send(std::move(request), std::move(to));
}
void async_client::cancel(request_id id) { core_->cancel(id); }
void async_client::pause(request_id id) { core_->pause(id); }
void async_client::resume(request_id id) { core_->resume(id); }
void async_client::resume_body(request_id id) { core_->resume_body(id); }
event_loop& async_client::loop() const noexcept { return core_->loop(); }
std::uint64_t async_client::connections_opened() const noexcept {
    return core_->connections_opened();
}

// ---- blocking ----

client::client(std::unique_ptr<event_loop> loop, std::unique_ptr<detail::client_core> core) noexcept
    : loop_(std::move(loop)), core_(std::move(core)) {}
client::client(client&&) noexcept = default;
client& client::operator=(client&& other) noexcept {
    core_ = std::move(other.core_);  // before the loop that it needs
    loop_ = std::move(other.loop_);
    return *this;
}
client::~client() = default;

result<client> client::create(client_options options) {
    auto loop = wire::detail::blocking_loop();
    auto core = std::make_unique<detail::client_core>(*loop, std::move(options), true);
    return client(std::move(loop), std::move(core));
}

namespace {

// What the caller's functions throw may not pass through the loop. It ends the request, and then
// leaves send().
class thrown_by_caller {
public:
    // Calls `f`; what it throws is kept, and `otherwise` comes of it.
    template <typename F, typename Value> Value of(const F& f, Value otherwise) noexcept {
        try {
            return f();
        } catch (...) {
            what_ = std::current_exception();
            return otherwise;
        }
    }
    // `id`: the request's, once `core` has given it one.
    void watch(client_request& r, detail::client_core& core, const request_id& id) {
        watch(r.source);
        if (!r.on_interim) return;
        r.on_interim = [this, &core, &id, tell = std::move(r.on_interim)](const response_head& h) {
            if (!of([&] { return tell(h), true; }, false)) core.cancel(id);
        };
    }
    void rethrow() {
        if (what_ != nullptr) std::rethrow_exception(what_);
    }

private:
    void watch(body_source& source) {
        if (!source) return;
        source.pull = [this, pull = std::move(source.pull)](buffer& out, std::size_t most) {
            if (what_ != nullptr) return result<source_state>(errc::cancelled);  // rewind() threw
            return of([&] { return pull(out, most); }, result<source_state>(errc::cancelled));
        };
        if (!source.rewind) return;
        source.rewind = [this, rewind = std::move(source.rewind)] {
            of([&] { return rewind(), true; }, false);
        };
    }

    std::exception_ptr what_;
};

// The functions of one request run in the middle of what the loop does for it: a request from there
// would run the loop inside itself, and receive into the bytes that they are being given.
bool calls_itself(event_loop& loop) noexcept { return loop.core().in_iteration(); }
error refusal(const client_request& r) {
    return {errc::bad_argument, r.url + ": a call from inside another of the same client"};
}

}  // namespace

result<reply> client::send(client_request request) {
    if (calls_itself(*loop_)) return refusal(request);
    std::optional<result<reply>> got;
    thrown_by_caller thrown;
    request_id id = 0;
    thrown.watch(request, *core_, id);
    id = core_->send(std::move(request), [&got](result<reply> r) { got.emplace(std::move(r)); });
    while (!got) {
        if (!core_->run_alone()) loop_->run_once();
    }
    thrown.rethrow();
    return *std::move(got);
}

result<reply> client::send(client_request request,
                           const std::function<bool(std::string_view piece)>& sink) {
    if (calls_itself(*loop_)) return refusal(request);
    std::optional<result<reply>> got;
    thrown_by_caller thrown;
    request_id id = 0;
    thrown.watch(request, *core_, id);
    response_pieces to;
    to.data = [&](std::string_view piece) {
        if (!thrown.of([&] { return sink(piece); }, false)) core_->cancel(id);
    };
    to.end = [&got](result<reply> r) { got.emplace(std::move(r)); };
    id = core_->send(std::move(request), std::move(to));
    while (!got) {
        if (!core_->run_alone()) loop_->run_once();
    }
    thrown.rethrow();
    return *std::move(got);
}

std::uint64_t client::connections_opened() const noexcept { return core_->connections_opened(); }

}  // namespace wire::http
