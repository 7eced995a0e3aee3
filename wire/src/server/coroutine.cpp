// Runs handlers that are coroutines, and hands them the pieces of a request's body.
#include "wire/server/coroutine.hpp"

#include "exchange.hpp"
#include "worker.hpp"

namespace wire::http {

namespace detail {

namespace {

// An exception destroys the response while it unwinds, as in any other handler.
task<> guarded(worker& w, std::uint64_t number, task<> handling) {
    try {
        task<> within = std::move(handling);  // destroyed, with what it holds, before the catch
        co_await std::move(within);
    } catch (...) {
        w.exceptions().caught(std::current_exception(), number);
    }
}

}  // namespace

coroutine_ticket number_coroutine(response& r) {
    exchange& e = response_access::of(r);
    e.coroutine = e.handle->coroutines.fetch_add(1, std::memory_order_relaxed) + 1;
    return {e.handle, e.coroutine};
}

void run_handler(const coroutine_ticket& ticket, task<> handling) {
    const std::shared_ptr<loop_handle>& handle = ticket.handle;
    if (handle->is_here()) {
        worker& w = *handle->owner;
        w.tasks().spawn(guarded(w, ticket.number, std::move(handling)));
        return;
    }
    unique_function<void()> work = [ticket, handling = std::move(handling)]() mutable {
        worker& w = *ticket.handle->owner;
        w.tasks().spawn(guarded(w, ticket.number, std::move(handling)));
    };
    const std::lock_guard lock(handle->mutex);  // gone before `work`, whose response takes it
    if (handle->loop != nullptr) handle->loop->post(std::move(work));
}

}  // namespace detail

// ---- pieces ----

// Shared with what the reader calls. The coroutine goes on at the end of the loop iteration,
// outside of that call.
struct body_pieces::state final : iteration_hook {
    state(event_loop& l, body_reader r) noexcept
        : iteration_hook(&state::wake), loop(&l), in(std::move(r)) {}

    static void wake(iteration_hook& hook) noexcept {
        const auto next = std::exchange(static_cast<state&>(hook).waits, nullptr);
        if (next) next.resume();
    }
    void something_came() {
        if (waits) loop->at_iteration_end(*this);
    }
    void finish(errc why) {
        if (over) return;
        over = true;
        result = why;
        something_came();
    }

    event_loop* loop;
    body_reader in;
    std::coroutine_handle<> waits;
    std::string piece;
    errc result = errc::none;  // once over
    bool begun = false;
    bool unwanted = false;  // its body_pieces is gone
    bool over = false;
};

namespace {

// The end handler of a body: when it is destroyed without having been called, the body has stopped.
template <typename State> struct last_word {
    explicit last_word(std::shared_ptr<State> s) noexcept : to(std::move(s)) {}
    last_word(last_word&&) noexcept = default;
    last_word& operator=(last_word&&) = delete;
    ~last_word() {
        if (to != nullptr) to->finish(errc::stopped);
    }
    void operator()(errc why) { to->finish(why); }
    std::shared_ptr<State> to;
};

}  // namespace

body_pieces::body_pieces(event_loop& loop, body_reader in)
    : state_(std::make_shared<state>(loop, std::move(in))) {}

body_pieces::~body_pieces() {
    if (state_ == nullptr) return;
    state_->unwanted = true;
    state_->in = {};  // which may hold the state in turn
}

void body_pieces::stop() {
    state_->unwanted = true;
    state_->finish(errc::stopped);
}

body_pieces::waiting body_pieces::next() noexcept { return waiting(state_); }

body_pieces::waiting::~waiting() {
    state_->waits = nullptr;
    state_->unlink();
}

bool body_pieces::waiting::await_ready() const noexcept {
    return state_->over || !state_->piece.empty();
}

void body_pieces::waiting::await_suspend(std::coroutine_handle<> next) {
    const std::shared_ptr<state> s = state_;
    s->waits = next;
    if (s->begun) {
        s->in.resume();
        return;
    }
    s->begun = true;
    body_reader in = s->in;
    in.read(
        [s](std::string_view bytes) {
            if (s->unwanted) return;
            s->piece += bytes;
            s->in.pause();
            s->something_came();
        },
        last_word(s));
}

result<std::string> body_pieces::waiting::await_resume() {
    if (!state_->piece.empty()) return std::exchange(state_->piece, {});
    if (state_->result != errc::none)
        return error(state_->result, "the request's body ended early");
    return std::string();
}

}  // namespace wire::http
