// A WebSocket session as coroutines see it.
//
// The session's handlers only note what has happened and queue the iteration hook. At the end of
// the loop iteration, when no handler of the session is running, the hook resumes the coroutine
// that can go on: it may destroy the channel or close the session.
//
//     event                          receiver                     sender
//     message                        resumed with it              -
//     session drained                -                            resumed
//     enough waits to be received    -                            -          (the session is held)
//     half of that was received      -                            -          (it is released)
//     session over (open == null)    what waits first, then       resumed with closed_early
//                                    closed_early
#include <deque>

#include "websocket/session_core.hpp"
#include "wire/client/coroutine.hpp"

namespace wire::ws {

namespace detail {

struct channel_state : iteration_hook {
    explicit channel_state(session& s, std::uint64_t most)
        : iteration_hook(&channel_state::on_iteration_end),
          open(&s),
          loop(&s.loop()),
          protocol(s.protocol()),
          most_waiting(most) {
        s.on_message([this](session& from, message m) {
            waiting.push_back({m.op, std::string(m.data)});
            waiting_bytes += cost_of(waiting.back());
            if (waiting_bytes >= most_waiting) core_of(from).hold();
            loop->at_iteration_end(*this);
        });
        s.on_drained([this](session&) { loop->at_iteration_end(*this); });
        s.on_close([this](session&, std::uint16_t code, std::string_view reason) {
            open = nullptr;
            ending = "the session has ended with code " + std::to_string(code);
            if (!reason.empty()) ending += ": " + std::string(reason);
            loop->at_iteration_end(*this);
        });
    }
    ~channel_state() {
        if (open == nullptr) return;
        open->on_message(nullptr);
        open->on_drained(nullptr);
        open->on_close(nullptr);
        open->close();
    }

    // Either coroutine may destroy all this when it is resumed: one is resumed, and the other, if
    // it can go on too, by the hook once more in the same loop iteration.
    static void on_iteration_end(iteration_hook& hook) noexcept {
        auto& s = static_cast<channel_state&>(hook);
        const bool may_receive = s.receiver && s.has_news();
        const bool may_send = s.sender && !s.is_stuck();
        if (may_receive && may_send) s.loop->at_iteration_end(s);
        if (may_receive) {
            std::exchange(s.receiver, nullptr).resume();
        } else if (may_send) {
            std::exchange(s.sender, nullptr).resume();
        }
    }
    // Messages without content take memory, too.
    static std::uint64_t cost_of(const channel::received& m) noexcept {
        return m.data.size() + sizeof m;
    }
    // Precondition: some message waits.
    channel::received take() {
        channel::received next = std::move(waiting.front());
        waiting.pop_front();
        waiting_bytes -= cost_of(next);
        if (open != nullptr && waiting_bytes <= most_waiting / 2) core_of(*open).release();
        return next;
    }
    bool has_news() const noexcept { return !waiting.empty() || open == nullptr; }
    // Also while what came before the connection's end still waits to be received.
    bool is_over() const noexcept {
        return open == nullptr || core_of(*open).connection->is_closed();
    }
    bool is_stuck() const noexcept { return !is_over() && open->is_congested(); }
    error ended() const {
        return {errc::closed_early, ending.empty() ? "the session is closing" : ending};
    }

    session* open;  // null once it has ended
    event_loop* loop;
    std::string protocol;
    std::uint64_t
        most_waiting;  // of messages that nobody has received; with as much, no more comes
    std::uint64_t waiting_bytes = 0;
    std::deque<channel::received> waiting;
    std::coroutine_handle<> receiver;
    std::coroutine_handle<> sender;
    std::string ending;  // how it has ended, for errors
};

}  // namespace detail

channel::channel(std::unique_ptr<detail::channel_state> s) noexcept : state_(std::move(s)) {}
channel::channel(channel&&) noexcept = default;
channel& channel::operator=(channel&&) noexcept = default;
channel::~channel() = default;

bool channel::is_open() const noexcept {
    return state_->open != nullptr && state_->open->is_open();
}

std::string_view channel::protocol() const noexcept { return state_->protocol; }

void channel::close(std::uint16_t code, std::string_view reason) {
    if (state_->open != nullptr) state_->open->close(code, reason);
}

channel::receiving channel::receive() noexcept { return receiving(*state_); }

channel::receiving::~receiving() {
    if (waits_) state_->receiver = nullptr;
}
bool channel::receiving::await_ready() const noexcept { return state_->has_news(); }
void channel::receiving::await_suspend(std::coroutine_handle<> waiting) noexcept {
    state_->receiver = waiting;
    waits_ = true;
}
result<channel::received> channel::receiving::await_resume() {
    waits_ = false;
    detail::channel_state& s = *state_;
    if (s.waiting.empty()) return s.ended();
    return s.take();
}

channel::sending channel::send(std::string_view data, opcode op) {
    if (!is_open()) return {*state_, state_->ended()};
    state_->open->send(data, op);
    return {*state_, {}};
}

channel::sending::~sending() {
    if (waits_) state_->sender = nullptr;
}
bool channel::sending::await_ready() const noexcept { return !how_ || !state_->is_stuck(); }
void channel::sending::await_suspend(std::coroutine_handle<> waiting) noexcept {
    state_->sender = waiting;
    waits_ = true;
}
result<void> channel::sending::await_resume() {
    waits_ = false;
    if (how_ && state_->is_over()) return state_->ended();
    return std::move(how_);
}

void dialing::await_suspend(std::coroutine_handle<> waiting) {
    waiting_ = waiting;
    const std::uint64_t most = options_.limits.max_message_bytes;
    dialer_->dial(url_, std::move(options_),
                  [call = callback(*this), most](result<session*> opened) mutable {
                      if (opened) {
                          call(channel(std::make_unique<detail::channel_state>(**opened, most)));
                      } else {
                          call(opened.error());
                      }
                  });
}

}  // namespace wire::ws
