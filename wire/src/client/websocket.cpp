// The WebSocket clients. A `dialed` is one connection from the first attempt to the end of its
// session; dialer_core owns all of them, on the loop's thread, and dialer and blocking_client are
// made of it.
//
//     a dialed is   it owns    timer               leaves that state by
//     opening       opener_    the opener's        opened() -> handshake; error -> over
//     handshake     parser_    handshake_timeout   an accepted 101 -> open, and the caller is given
//                                                  the session; any other answer -> over
//     open          session_   write_timeout; the  session_finished() -> lingering; the connection
//                              session's own       is lost, the server answers no more, or takes
//                                                  nothing of what waits -> over
//     lingering     session_   close_timeout; as   the server closes the connection, as RFC 6455
//                              long as it takes    section 7.1.1 wants it -> over
//                              what was sent,
//                              write_timeout
//     over          -          -                   deleted at the end of the loop iteration
//
// In `over` whoever still waits is told: the dial's callback, or the session's on_close().
#include "wire/client/websocket.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <limits>
#include <unordered_map>

#include "loop/blocking_loop.hpp"
#include "loop/cap_time_limits.hpp"
#include "loop/deferred_deletion.hpp"
#include "opener.hpp"
#include "unix_time.hpp"
#include "websocket/session_core.hpp"
#include "wire/proto/url.hpp"
#include "wire/proto/ws_handshake.hpp"

namespace wire::ws {

namespace {

// The fields that the handshake is made of, and those of a body, which it has none of.
bool is_of_handshake(std::string_view name) noexcept {
    constexpr std::string_view own = "sec-websocket-";
    if (http::equals_ignoring_case(name.substr(0, own.size()), own)) return true;
    for (const std::string_view other :
         {"connection", "upgrade", "content-length", "transfer-encoding"}) {
        if (http::equals_ignoring_case(name, other)) return true;
    }
    return false;
}

class dialed;

struct dialed_owner : wire::detail::opening_base {
    using opening_base::opening_base;
    deflate_pool deflates;
    detail::message_budget unfinished_messages;
    std::unordered_map<dialed*, std::unique_ptr<dialed>> all;
    wire::detail::deferred_deletion<dialed> deferred_deletion;

    void defer(dialed& d);
};

// A connection from the first attempt to the end of its session.
class dialed final : public stream, private detail::session_owner {
public:
    dialed(dialed_owner& owner, wire::url url, dial_options options, dialer::callback opened)
        : owner_(&owner),
          url_(std::move(url)),
          options_(std::move(options)),
          opened_(std::move(opened)),
          parser_(options_.limits) {
        wire::detail::cap_time_limits(options_.limits);
        // The body of a refusal is not read: its length does not matter, its status does.
        options_.limits.max_body_bytes = std::numeric_limits<std::uint64_t>::max();
    }

    const wire::url& url() const noexcept { return url_; }

    void open() {
        for (const auto& [name, value] : options_.headers) {
            if (is_of_handshake(name))
                return fail({errc::bad_argument,
                             "dial_options::headers: " + name +
                                 " is the handshake's own field; `protocols` and `deflate` say "
                                 "what is offered"});
        }
        auto to = wire::detail::route_to(url_, options_);
        if (!to) return fail(to.error());
        tunnelled_ = to->tunnelled;
        opener_ = std::make_unique<wire::detail::opener>(*this, *owner_, options_, options_,
                                                         options_.limits, *std::move(to));
        opener_->start([this](result<open_times> how) { opened(std::move(how)); });
    }
    void fail(error why) {
        if (over_) return;
        over_ = true;
        opener_.reset();
        owner_->loop->disarm(timer_);
        close();
        owner_->defer(*this);  // first: the callbacks may destroy the dialer
        if (opened_) {
            why.message = url_.scheme + "://" + url_.authority() + url_.target + ": " + why.message;
            std::exchange(opened_, nullptr)(std::move(why));
        }
        if (session_ != nullptr) session_->lost();
    }

private:
    void opened(result<open_times> how) {
        const auto used_up = std::move(opener_);
        if (!how) return fail(how.error());
        if (options_.connected) options_.connected(*how);
        if (over_) return;  // by that call
        std::array<std::uint8_t, 16> nonce;
        // Cannot be cut short at this size.
        [[maybe_unused]] const auto n = ::getrandom(nonce.data(), nonce.size(), 0);
        key_ = make_key(nonce);
        std::vector<http::header> extra;
        std::string host = url_.authority();
        for (const auto& [name, value] : options_.headers) {
            if (http::equals_ignoring_case(name, "host")) {
                host = value;
            } else if (!tunnelled_ || !http::equals_ignoring_case(name, "proxy-authorization")) {
                extra.push_back({name, value});
            }
        }
        std::string cookies;
        if (options_.cookies != nullptr && !has_own_cookies())
            cookies = options_.cookies->header(url_, http::unix_now());
        if (!cookies.empty()) extra.push_back({"Cookie", cookies});
        if (!options_.protocols.empty())
            extra.push_back({"Sec-WebSocket-Protocol", options_.protocols});
        std::string offer;
        if (options_.deflate) offer = deflate_offer(*options_.deflate);
        if (!offer.empty()) extra.push_back({"Sec-WebSocket-Extensions", offer});
        if (const errc refused = write_upgrade_request(out(), url_.target, host, key_, extra);
            refused != errc::none) {
            fail(refused);
            return;
        }
        owner_->loop->arm_after(timer_, options_.handshake_timeout);
        flush_later();
    }

    bool has_own_cookies() const {
        return std::any_of(options_.headers.begin(), options_.headers.end(), [](const auto& field) {
            return http::equals_ignoring_case(field.first, "cookie");
        });
    }

    void on_open() override { opener_->on_open(); }
    void on_data(std::span<char> bytes) override {
        if (opener_ != nullptr) return opener_->on_data(bytes);
        if (over_ || lingering_) return;
        if (held_.empty()) {
            const std::size_t used = consume(bytes);
            if (over_ || lingering_) return;
            if (used < bytes.size()) {
                owner_->loop->pool().lend(held_);
                held_.append({bytes.data() + used, bytes.size() - used});
            } else if (session_ == nullptr || !session_->held) {
                return;
            }
        } else {
            held_.append({bytes.data(), bytes.size()});
            consume_held();
        }
        pause_or_resume();
    }

    void consume_held() {
        held_.consume(consume(held_.bytes()));
        if (held_.empty()) owner_->loop->pool().reclaim(held_);
    }

    void pause_or_resume() {
        if (is_closed()) return;
        const std::size_t most = options_.limits.max_unsent_bytes;
        const bool held = session_ != nullptr && session_->held;
        if (held || (unsent() > most && held_.size() > most)) {
            pause_reading();
        } else if (!reading()) {
            resume_reading();
        }
    }

    std::size_t consume(std::span<char> bytes) {
        std::size_t at = 0;
        if (session_ == nullptr) {
            at = read_handshake(bytes);
            if (session_ == nullptr) return at;
        }
        return at + session_->receive(bytes.subspan(at));
    }

    // Returns how many bytes of the response were used up. session_ is set when the handshake is
    // complete.
    std::size_t read_handshake(std::span<char> bytes) {
        std::size_t at = 0;
        for (;;) {
            const http::step s = parser_.parse_in_place(bytes.subspan(at), head_);
            switch (s.what) {
            case http::event::need_more: return at;
            case http::event::interim:
            case http::event::trailer: break;
            case http::event::error: fail(s.error); return at;
            case http::event::head:
                if (options_.answered) options_.answered(head_);
                if (over_) return at;  // by that call
                if (options_.cookies != nullptr)
                    options_.cookies->store_all(url_, head_.headers, http::unix_now());
                if (auto checked = check_upgrade_response(
                        head_, key_, options_.protocols,
                        options_.deflate ? &*options_.deflate : nullptr, &agreed_);
                    !checked) {
                    fail(checked.error());
                    return at;
                }
                // The head's views die before the session is made.
                agreed_protocol_ = head_.headers.find("Sec-WebSocket-Protocol").value_or("");
                break;
            default:
                owner_->loop->disarm(timer_);
                session_.reset(new detail::session_core(role::client, *this, *this, options_.limits,
                                                        owner_->unfinished_messages,
                                                        compression()));
                session_->set_protocol(agreed_protocol_);
                std::exchange(opened_, nullptr)(session_.get());
                return at + s.consumed;
            }
            at += s.consumed;
        }
    }

    std::unique_ptr<permessage_deflate> compression() const {
        if (!agreed_) return nullptr;
        return std::make_unique<permessage_deflate>(role::client, *agreed_, *options_.deflate,
                                                    owner_->deflates, options_.limits);
    }

    void on_end() override {
        if (opener_ != nullptr) return opener_->on_end();
        end({errc::closed_early, "the server closed the connection"});
    }
    void on_failure(const error& why) override {
        if (opener_ != nullptr) return opener_->on_failure(why);
        end(why);
    }
    // The connection has ended, or the server's half of it. What came before is received first.
    void end(error why) {
        if (session_ == nullptr || lingering_) return fail(std::move(why));
        broken_ = std::move(why);
        receive_rest();
    }
    // As long as the session is not held, and a server that may still read takes what it is sent:
    // session_released() and on_drained() go on.
    void receive_rest() {
        while (!held_.empty() && !session_->held) {
            if (is_closed()) out().clear();  // answers that nobody takes
            const std::size_t before = held_.size();
            consume_held();
            if (over_ || lingering_) return;
            if (!is_closed() && !held_.empty() && session_->makes_peer_wait()) return;
            if (held_.size() == before) break;  // a part of a frame
        }
        if (session_->held && !held_.empty()) {
            // Who waits for room must not wait for who receives.
            if (unsent() <= options_.limits.max_unsent_bytes) session_->drained();
            return;
        }
        fail(*std::move(broken_));
    }
    // A blocking client looks while it sends: no loop runs in between.
    void before_send() override {
        last_write_ = owner_->loop->now();
        if (session_ != nullptr && !lingering_ && !owner_->blocking)
            owner_->loop->arm(timer_, last_write_ + options_.limits.write_timeout);
    }
    time_point last_write() const noexcept override { return last_write_; }
    void on_drained() override {
        if (session_ == nullptr || lingering_) return;
        if (broken_) return receive_rest();
        // First what came while it was full: its user may fill it again, each time.
        if (!held_.empty()) consume_held();
        if (over_ || lingering_) return;
        if (unsent() <= options_.limits.max_unsent_bytes) session_->drained();
        pause_or_resume();
    }

    void session_released() override {
        if (over_ || lingering_) return;
        heard_since_ = owner_->loop->now();
        if (broken_) return receive_rest();
        if (!held_.empty()) consume_held();
        if (over_ || lingering_) return;
        pause_or_resume();
    }

    // The server is the one to close the connection (RFC 6455 section 7.1.1); it has some time to
    // do so.
    void session_finished() override {
        if (is_closed()) return;
        if (session_->gave_up) return fail(errc::timed_out);
        lingering_ = true;
        lingering_since_ = owner_->loop->now();
        // No loop runs that would notice the server's end.
        if (owner_->blocking && unsent() == 0) return close();
        shutdown_write();
        resume_reading();
        owner_->loop->arm_after(timer_, options_.limits.close_timeout);
    }

    void on_timer() {
        if (session_ != nullptr && !lingering_) {
            look_at_writing();
        } else if (session_ != nullptr) {
            // What was sent before the end is still being taken, but not for ever.
            const time_point due = std::min(last_write_ + options_.limits.close_timeout,
                                            lingering_since_ + options_.limits.write_timeout);
            if (is_full() && due > owner_->loop->now()) return owner_->loop->arm(timer_, due);
            fail(errc::timed_out);
        } else {
            fail({errc::timed_out, "no answer to the handshake within the time limit"});
        }
    }

    // Ends the session of a server that takes nothing, as servers end those of such clients. One
    // that is not heard may have to be before it reads: its time begins when it is.
    void look_at_writing() {
        if (!is_full()) return;  // the next bytes arm the timer
        const time_point now = owner_->loop->now();
        const time_point since = session_->held ? now : std::max(last_write_, heard_since_);
        const time_point due = since + options_.limits.write_timeout;
        if (due > now) return owner_->loop->arm(timer_, due);
        close(true);
        session_->finish(close_code::abnormal, "the server takes nothing");
        fail(errc::timed_out);
    }

    dialed_owner* owner_;
    wire::url url_;
    dial_options options_;
    dialer::callback opened_;
    std::unique_ptr<wire::detail::opener> opener_;  // while it opens
    std::string key_;
    http::response_parser parser_;
    http::response_head head_;
    std::optional<deflate_agreement> agreed_;
    std::string agreed_protocol_;
    buffer held_;
    std::unique_ptr<detail::session_core> session_;
    timer timer_ = timer::calling<&dialed::on_timer>(this);
    time_point last_write_;
    time_point heard_since_;  // the session was held before
    time_point lingering_since_;
    std::optional<error> broken_;  // why the connection has ended, while held_ is not empty
    bool lingering_ = false;
    bool tunnelled_ = false;
    bool over_ = false;
};

void dialed_owner::defer(dialed& d) {
    const auto it = all.find(&d);
    deferred_deletion.defer(*loop, std::move(it->second));
    all.erase(it);
}

}  // namespace

// What dialer and blocking_client are made of.
class detail::dialer_core {
public:
    // `blocking`: the loop is wire::detail::blocking_loop()'s.
    dialer_core(event_loop& l, bool blocking) : owned_(l) { owned_.blocking = blocking; }
    ~dialer_core() { stop(); }

    void dial(std::string_view url, dial_options options, dialer::callback opened);
    // Drops all connections; their callbacks are called from here. May be called by one of them.
    void stop();
    // Waits for what comes next, or `longest`. Only for a blocking client, which has one
    // connection.
    void wait(clock::duration longest) {
        if (owned_.all.empty() || !owned_.all.begin()->first->run_alone(longest))
            owned_.loop->run_once(longest);
    }
    event_loop& loop() const noexcept { return *owned_.loop; }

private:
    dialed_owner owned_;
    std::shared_ptr<char> alive_ = std::make_shared<char>();
    bool stopping_ = false;
};

void detail::dialer_core::stop() {
    stopping_ = true;
    while (!owned_.all.empty())
        owned_.all.begin()->first->fail({errc::stopped, "the dialer is gone"});
    owned_.names.stop();
    // Else at the end of the iteration: a callback of one of them may be on the stack.
    if (!owned_.loop->core().in_iteration()) owned_.deferred_deletion.clear();
}

void detail::dialer_core::dial(std::string_view url, dial_options options,
                               dialer::callback opened) {
    auto parsed = parse_url_to_request(url);
    if (parsed && !parsed->websocket())
        parsed =
            error(errc::bad_url, std::string(url) + ": this client is for ws:// and wss:// URLs");
    if (stopping_)  // by a callback that has just been told so
        parsed = error(errc::stopped, std::string(url) + ": the dialer is gone");
    if (!parsed) {
        owned_.loop->post([opened = std::move(opened), why = parsed.error()]() mutable {
            opened(std::move(why));
        });
        return;
    }
    auto made =
        std::make_unique<dialed>(owned_, *std::move(parsed), std::move(options), std::move(opened));
    dialed* const d = made.get();
    owned_.all.emplace(d, std::move(made));
    // From the loop: an error that comes at once must not be told inside this call.
    owned_.loop->post([d, this, alive = std::weak_ptr<char>(alive_)] {
        if (!alive.expired() && owned_.all.count(d) != 0) d->open();
    });
}

dialer::dialer(event_loop& loop) : core_(std::make_unique<detail::dialer_core>(loop, false)) {}
// Callbacks that are told of the end may still call this dialer: it is whole until they are done.
// One that destroys it has the dialer's own code to return to.
dialer::~dialer() {
    event_loop& loop = core_->loop();
    core_->stop();
    wire::detail::destroy_after_callbacks(loop, std::move(core_));
}
void dialer::dial(std::string_view url, dial_options options, callback opened) {
    core_->dial(url, std::move(options), std::move(opened));
}
event_loop& dialer::loop() const noexcept { return core_->loop(); }

// ---- blocking ----

struct blocking_client::state {
    ~state() { dial.reset(); }  // its sessions note their end in the other members

    std::unique_ptr<event_loop> loop;
    std::unique_ptr<detail::dialer_core> dial;
    session* open = nullptr;  // null once it has ended
    struct received {
        opcode op;
        std::string data;
    };
    std::deque<received> waiting;
    std::uint64_t waiting_bytes = 0;
    std::string current;  // what receive() gave out last
    std::string ending;   // how it ended
    std::string protocol;

    error ended() const {
        return {errc::closed_early, ending.empty() ? "the session is closing" : ending};
    }
    // Messages without content take memory, too.
    static std::uint64_t cost_of(const received& m) noexcept { return m.data.size() + sizeof m; }
    // A server that takes nothing may go on sending for as long as send() waits.
    void keep(session& from, message m) {
        detail::session_core& core = detail::core_of(from);
        waiting.push_back({m.op, std::string(m.data)});
        waiting_bytes += cost_of(waiting.back());
        const std::uint64_t most = core.bounds->max_unfinished_message_bytes;
        if (most != 0 && waiting_bytes > most) core.hold();
    }
    // Precondition: some message waits.
    opcode take() {
        const opcode op = waiting.front().op;
        waiting_bytes -= cost_of(waiting.front());
        current = std::move(waiting.front().data);
        waiting.pop_front();
        if (open != nullptr && waiting.empty()) detail::core_of(*open).release();
        return op;
    }
};

blocking_client::blocking_client(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
blocking_client::blocking_client(blocking_client&&) noexcept = default;
blocking_client& blocking_client::operator=(blocking_client&&) noexcept = default;

blocking_client::~blocking_client() = default;

result<blocking_client> blocking_client::connect(std::string_view url, dial_options options) {
    auto made = std::make_unique<state>();
    made->loop = wire::detail::blocking_loop();
    made->dial = std::make_unique<detail::dialer_core>(*made->loop, true);
    std::optional<error> failed;
    std::exception_ptr thrown;  // by a function of the caller's: it may not pass through the loop
    const auto watch = [&thrown](auto& call) {
        if (!call) return;
        call = [&thrown, tell = std::move(call)](const auto& what) {
            try {
                tell(what);
            } catch (...) {
                thrown = std::current_exception();
            }
        };
    };
    watch(options.connected);
    watch(options.answered);
    state* const s = made.get();
    s->dial->dial(url, std::move(options), [s, &failed](result<session*> opened) {
        if (!opened) {
            failed = opened.error();
            return;
        }
        s->open = *opened;
        s->protocol = (*opened)->protocol();
        s->open->on_message([s](session& from, message m) { s->keep(from, m); });
        s->open->on_close([s](session&, std::uint16_t code, std::string_view reason) {
            s->open = nullptr;
            s->ending = "the session has ended with code " + std::to_string(code);
            if (!reason.empty()) s->ending += ": " + std::string(reason);
        });
    });
    while (s->open == nullptr && !failed && s->ending.empty() && thrown == nullptr)
        s->dial->wait(event_loop::forever);
    if (thrown != nullptr) {
        made.reset();  // tells the dial's callback of its end
        std::rethrow_exception(thrown);
    }
    if (failed) return *std::move(failed);
    return blocking_client(std::move(made));
}

bool blocking_client::is_open() const noexcept {
    return state_->open != nullptr && state_->open->is_open();
}

std::string_view blocking_client::protocol() const noexcept { return state_->protocol; }

result<void> blocking_client::send(std::string_view data, opcode op) {
    state& s = *state_;
    if (!is_open()) return s.ended();
    if (s.open->send_now(data, op)) return {};
    // The server has to take what came before, or is gone, which the loop tells.
    const auto longest = detail::core_of(*s.open).bounds->write_timeout;
    std::size_t left = s.open->unsent();
    time_point until = clock::now() + longest;
    do {
        s.loop->run_once(until - clock::now());
        if (s.open == nullptr) return s.ended();
        if (s.open->unsent() < left) {
            left = s.open->unsent();
            until = clock::now() + longest;
        }
        if (!s.open->is_congested()) return {};
    } while (is_open() && clock::now() < until);
    if (!is_open()) return s.ended();
    return error(errc::timed_out, "the server takes nothing");
}

result<message> blocking_client::receive(std::chrono::milliseconds wait) {
    state& s = *state_;
    if (s.waiting.empty() && s.open != nullptr) {
        const time_point until = clock::now() + wire::detail::capped(wait);
        do {
            s.dial->wait(until - clock::now());
        } while (s.waiting.empty() && s.open != nullptr && clock::now() < until);
    }
    if (s.waiting.empty()) {
        if (s.open == nullptr) return error(errc::closed_early, s.ending);
        return error(errc::timed_out, "no message within the time limit");
    }
    const opcode op = s.take();
    return message{op, s.current};
}

void blocking_client::close(std::uint16_t code, std::string_view reason) {
    state& s = *state_;
    if (s.open == nullptr) return;
    s.loop->refresh_now();
    s.open->close(code, reason);
    // At most for limits::close_timeout, which the session watches.
    while (s.open != nullptr) s.dial->wait(event_loop::forever);
}

}  // namespace wire::ws
