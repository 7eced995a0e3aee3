#include "wire/client/websocket.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "loop/blocking_loop.hpp"
#include "loop/deferred_deletion.hpp"
#include "opener.hpp"
#include "unix_time.hpp"
#include "wire/proto/url.hpp"
#include "wire/proto/ws_handshake.hpp"

namespace wire::ws {

namespace {

class dialed;

struct dialed_owner : wire::detail::opening_base {
    using opening_base::opening_base;
    deflate_pool deflates;
    std::unordered_map<dialed*, std::unique_ptr<dialed>> all;
    wire::detail::deferred_deletion<dialed> deferred_deletion;

    void defer(dialed& d);
};

// A connection from the first attempt to the end of its session.
class dialed final : public stream, private session::owner {
public:
    dialed(dialed_owner& owner, wire::url url, dial_options options, dialer::callback opened)
        : owner_(&owner),
          url_(std::move(url)),
          options_(std::move(options)),
          opened_(std::move(opened)),
          parser_(options_.limits) {}

    const wire::url& url() const noexcept { return url_; }

    void open() {
        auto to = wire::detail::route_to(url_, options_);
        if (!to) return fail(to.error());
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
        if (opened_) {
            why.message = url_.scheme + "://" + url_.authority() + url_.target + ": " + why.message;
            std::exchange(opened_, nullptr)(std::move(why));
        }
        if (session_ != nullptr) session_->lost();
        owner_->defer(*this);
    }

private:
    void opened(result<open_times> how) {
        const auto used_up = std::move(opener_);
        if (!how) return fail(how.error());
        if (options_.connected) options_.connected(*how);
        std::array<std::uint8_t, 16> nonce;
        // Cannot be cut short at this size.
        [[maybe_unused]] const auto n = ::getrandom(nonce.data(), nonce.size(), 0);
        key_ = make_key(nonce);
        std::vector<http::header> extra;
        for (const auto& [name, value] : options_.headers) extra.push_back({name, value});
        std::string cookies;
        if (options_.cookies != nullptr && !has_own_cookies())
            cookies = options_.cookies->header(url_, http::unix_now());
        if (!cookies.empty()) extra.push_back({"Cookie", cookies});
        if (!options_.protocols.empty())
            extra.push_back({"Sec-WebSocket-Protocol", options_.protocols});
        std::string offer;
        if (options_.deflate) offer = deflate_offer(*options_.deflate);
        if (!offer.empty()) extra.push_back({"Sec-WebSocket-Extensions", offer});
        if (const errc refused =
                write_upgrade_request(out(), url_.target, url_.authority(), key_, extra);
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
            if (over_ || lingering_ || used == bytes.size()) return;
            owner_->loop->pool().lend(held_);
            held_.append({bytes.data() + used, bytes.size() - used});
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
        if (unsent() > most && held_.size() > most) {
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

    // Returns how many bytes of the response were used up; session_ is there when it was a good
    // one.
    std::size_t read_handshake(std::span<char> bytes) {
        std::size_t at = 0;
        for (;;) {
            const http::step s = parser_.parse({bytes.data() + at, bytes.size() - at}, head_);
            switch (s.what) {
            case http::event::need_more: return at;
            case http::event::interim: break;
            case http::event::error: fail(s.error); return at;
            case http::event::head:
                if (options_.cookies != nullptr)
                    options_.cookies->store_all(url_, head_.headers, http::unix_now());
                if (auto checked = check_upgrade_response(
                        head_, key_, options_.protocols,
                        options_.deflate ? &*options_.deflate : nullptr, &agreed_);
                    !checked) {
                    fail(checked.error());
                    return at;
                }
                break;
            default:
                owner_->loop->disarm(timer_);
                session_.reset(
                    new session(role::client, *this, *this, options_.limits, compression()));
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
        fail({errc::closed_early, "the server closed the connection"});
    }
    void on_failure(const error& why) override {
        if (opener_ != nullptr) {
            opener_->on_failure(why);
        } else {
            fail(why);
        }
    }
    void on_drained() override {
        if (session_ == nullptr || lingering_) return;
        session_->drained();
        if (!over_ && !held_.empty()) consume_held();
        pause_or_resume();
    }

    // The server is the one to close the connection (RFC 6455 section 7.1.1); it has some time to
    // do so.
    void session_finished() override {
        if (is_closed()) return;
        lingering_ = true;
        // Nobody runs the loop to hear of the server's end.
        if (owner_->blocking && unsent() == 0) return close();
        shutdown_write();
        resume_reading();
        owner_->loop->arm_after(timer_, options_.limits.close_timeout);
    }

    void on_timer() {
        if (session_ != nullptr) {
            fail(errc::timed_out);
        } else {
            fail({errc::timed_out, "no answer to the handshake within the time limit"});
        }
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
    buffer held_;
    std::unique_ptr<session> session_;
    timer timer_ = timer::calling<&dialed::on_timer>(this);
    bool lingering_ = false;
    bool over_ = false;
};

void dialed_owner::defer(dialed& d) {
    const auto it = all.find(&d);
    deferred_deletion.defer(*loop, std::move(it->second));
    all.erase(it);
}

}  // namespace

struct dialer::state {
    explicit state(event_loop& l) : owned(l) {}

    dialed_owner owned;
    std::shared_ptr<char> alive = std::make_shared<char>();
};

dialer::dialer(event_loop& loop) : state_(std::make_unique<state>(loop)) {}

event_loop& dialer::loop() const noexcept { return *state_->owned.loop; }

dialer::~dialer() {
    auto& all = state_->owned.all;
    while (!all.empty()) all.begin()->first->fail({errc::stopped, "the dialer is gone"});
    state_->owned.deferred_deletion.clear();
}

void dialer::dial(std::string_view url, dial_options options, callback opened) {
    state& s = *state_;
    auto parsed = parse_url(url);
    if (parsed && !parsed->websocket())
        parsed =
            error(errc::bad_url, std::string(url) + ": this client is for ws:// and wss:// URLs");
    if (!parsed) {
        s.owned.loop->post([opened = std::move(opened), why = parsed.error()]() mutable {
            opened(std::move(why));
        });
        return;
    }
    auto made = std::make_unique<dialed>(s.owned, *std::move(parsed), std::move(options),
                                         std::move(opened));
    dialed* const d = made.get();
    s.owned.all.emplace(d, std::move(made));
    // What fails at once must not do so from inside this call.
    s.owned.loop->post([d, &s, alive = std::weak_ptr<char>(s.alive)] {
        if (!alive.expired() && s.owned.all.count(d) != 0) d->open();
    });
}

// ---- blocking ----

struct blocking_client::state {
    ~state() { dial.reset(); }  // its sessions note their end in the other members

    // Waits for what comes next, or longer.
    void turn(clock::duration longest = event_loop::forever) {
        auto& all = dial->state_->owned.all;  // one, while it lives
        if (all.empty() || !all.begin()->first->run_alone(longest)) loop->run_once(longest);
    }

    std::unique_ptr<event_loop> loop;
    std::unique_ptr<dialer> dial;
    session* open = nullptr;  // null once it has ended
    struct received {
        opcode op;
        std::string data;
    };
    std::deque<received> waiting;
    std::string current;  // what receive() gave out last
    std::string ending;   // how it ended
};

blocking_client::blocking_client(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
blocking_client::blocking_client(blocking_client&&) noexcept = default;
blocking_client& blocking_client::operator=(blocking_client&&) noexcept = default;

blocking_client::~blocking_client() = default;

result<blocking_client> blocking_client::connect(std::string_view url, dial_options options) {
    auto made = std::make_unique<state>();
    made->loop = wire::detail::blocking_loop();
    made->dial = std::make_unique<dialer>(*made->loop);
    made->dial->state_->owned.blocking = true;
    std::optional<error> failed;
    state* const s = made.get();
    s->dial->dial(url, std::move(options), [s, &failed](result<session*> opened) {
        if (!opened) {
            failed = opened.error();
            return;
        }
        s->open = *opened;
        s->open->on_message(
            [s](session&, message m) { s->waiting.push_back({m.op, std::string(m.data)}); });
        s->open->on_close([s](session&, std::uint16_t code, std::string_view reason) {
            s->open = nullptr;
            s->ending = "the session has ended with code " + std::to_string(code);
            if (!reason.empty()) s->ending += ": " + std::string(reason);
        });
    });
    while (s->open == nullptr && !failed && s->ending.empty()) s->turn();
    if (failed) return *std::move(failed);
    return blocking_client(std::move(made));
}

bool blocking_client::is_open() const noexcept {
    return state_->open != nullptr && state_->open->is_open();
}

result<void> blocking_client::send(std::string_view data, opcode op) {
    state& s = *state_;
    if (!is_open())
        return error(errc::closed_early, s.ending.empty() ? "the session is closing" : s.ending);
    s.loop->refresh_now();
    s.open->send_now(data, op);
    // A large message may wait for the server to take what came before.
    while (s.open != nullptr && s.open->is_congested()) s.loop->run_once();
    return {};
}

result<message> blocking_client::receive(std::chrono::milliseconds wait) {
    state& s = *state_;
    if (s.waiting.empty() && s.open != nullptr) {
        const time_point until = clock::now() + wait;
        do {
            s.turn(until - clock::now());
        } while (s.waiting.empty() && s.open != nullptr && clock::now() < until);
    }
    if (s.waiting.empty()) {
        if (s.open == nullptr) return error(errc::closed_early, s.ending);
        return error(errc::timed_out, "no message within the time limit");
    }
    const opcode op = s.waiting.front().op;
    s.current = std::move(s.waiting.front().data);
    s.waiting.pop_front();
    return message{op, s.current};
}

void blocking_client::close(std::uint16_t code, std::string_view reason) {
    state& s = *state_;
    if (s.open == nullptr) return;
    s.loop->refresh_now();
    s.open->close(code, reason);
    while (s.open != nullptr) s.turn();  // at most limits::close_timeout, which the session watches
}

}  // namespace wire::ws
