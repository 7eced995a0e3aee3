// Bodies in pieces: what the handles do, and how pieces cross between their thread and the loop's.
// body.hpp has the states.
#include "body.hpp"

#include <exception>
#include <memory>
#include <utility>

#include "connection.hpp"
#include "exceptions.hpp"
#include "exchange.hpp"
#include "wire/proto/trailers.hpp"

namespace wire::http {

namespace {

// Runs `work` on the loop's thread, at once when this is it. False when the loop is gone.
template <typename Work>
bool run_on_loop(const std::shared_ptr<detail::loop_handle>& handle, Work work) {
    if (handle->is_here()) {
        work();
        return true;
    }
    // Gone before `work`, which may own a response that takes it.
    const std::lock_guard lock(handle->mutex);
    if (handle->loop == nullptr) return false;
    handle->loop->post(std::move(work));
    return true;
}

}  // namespace

// ---- writer ----

body_writer& body_writer::operator=(body_writer&& other) noexcept {
    body_writer old(std::move(*this));
    channel_ = std::move(other.channel_);
    return *this;
}

body_writer::~body_writer() {
    if (channel_ != nullptr) channel_->end(false);
}

bool body_writer::write(std::string_view piece) {
    return channel_ != nullptr && channel_->write(piece);
}

bool body_writer::trailer(std::string_view name, std::string_view value) {
    if (channel_ == nullptr || !may_be_trailer(name) || !is_field_value(value)) return false;
    const std::lock_guard lock(channel_->mutex);
    if (channel_->closed) return false;
    channel_->trailer.append(name).append(": ").append(value).append("\r\n");
    return true;
}

void body_writer::finish() {
    if (channel_ != nullptr) std::exchange(channel_, nullptr)->end(true);
}

bool body_writer::is_open() const noexcept {
    if (channel_ == nullptr) return false;
    const std::lock_guard lock(channel_->mutex);
    return !channel_->closed;
}

void body_writer::on_drained(unique_function<void()> call) {
    if (channel_ == nullptr) return;
    const std::lock_guard lock(channel_->mutex);
    if (!channel_->over) std::swap(channel_->on_drained, call);
}

void body_writer::on_closed(unique_function<void()> call) {
    if (channel_ == nullptr) return;
    {
        const std::lock_guard lock(channel_->mutex);
        if (!channel_->over) {
            std::swap(channel_->on_closed, call);
            return;
        }
        if (!channel_->was_lost) return;
    }
    const auto told = std::make_shared<unique_function<void()>>(std::move(call));
    const auto handle = channel_->handle;
    const auto tell = [handle, told] { detail::shielded(*handle, *told); };
    if (!run_on_loop(handle, tell)) tell();
}

// ---- reader ----

void body_reader::read(piece_handler on_piece, end_handler on_end) {
    if (source_ == nullptr) return;
    run_on_loop(source_->handle,
                [s = source_, piece = std::move(on_piece), end = std::move(on_end)]() mutable {
                    s->read(std::move(piece), std::move(end));
                });
}

void body_reader::pause() {
    if (source_ != nullptr) run_on_loop(source_->handle, [s = source_] { s->pause(true); });
}

void body_reader::resume() {
    if (source_ != nullptr) run_on_loop(source_->handle, [s = source_] { s->pause(false); });
}

namespace detail {

bool body_channel::write(std::string_view piece) {
    const bool here = handle->is_here();
    buffer coded;
    if (here && at != nullptr) {
        take_pending();
        if (coder != nullptr && !coder->add(piece, flush::sync, coded)) {
            end(false);
            return false;
        }
        at->send_piece(*this, coder != nullptr ? coded.view() : piece);
        // Also where the peer takes all of it at once: one that reads as fast as this is written
        // would keep the loop from all others.
        const bool full = at->unsent() > most_unsent;
        if (full) at->flush();
        const std::size_t left_over = full ? at->unsent() : 0;
        bool to_post = false;
        {
            const std::lock_guard lock(mutex);
            unsent = left_over;
            congested = congested || full;
            to_post = full && left_over == 0 && !posted;  // else the connection says when it is
            posted = posted || to_post;
        }
        if (to_post) at->loop()->post([c = shared_from_this()] { c->pump(); });
        return !full;
    }
    bool to_post = false;
    bool full = false;
    std::unique_ptr<piece_coder> unused;
    {
        std::unique_lock lock(mutex);
        if (closed) return false;
        if (coder != nullptr) {
            coding = true;
            lock.unlock();
            const bool good = coder->add(piece, flush::sync, coded);
            lock.lock();
            coding = false;
            if (over || !good) {
                unused = std::move(coder);
                lock.unlock();
                end(false);
                return false;
            }
            piece = coded.view();
        }
        pending.append(piece);
        full = pending.size() + unsent > most_unsent;
        congested = congested || full;
        to_post = !posted && !here;  // attach() takes what is written here before it
        posted = posted || to_post;
    }
    if (to_post && !run_on_loop(handle, [c = shared_from_this()] { c->pump(); })) {
        lost();
        return false;
    }
    return !full;
}

void body_channel::end(bool is_complete) {
    const bool here = handle->is_here();
    std::unique_ptr<piece_coder> used;
    {
        const std::lock_guard lock(mutex);
        if (closed) return;
        closed = ended = true;
        complete = is_complete;
        used = std::move(coder);
        if (used != nullptr && complete) {  // a few bytes: all else was flushed
            buffer last;
            complete = used->add({}, flush::finish, last);
            pending.append(last.view());
        }
    }
    if (!here) {
        run_on_loop(handle, [c = shared_from_this()] { c->pump(); });
    } else if (at != nullptr) {
        pump();
    }
}

void body_channel::set_coder(std::unique_ptr<piece_coder> c) {
    const std::lock_guard lock(mutex);
    if (over) return;
    if (!pending.empty() || ended) {
        buffer coded;
        const bool good = c->add(pending, ended && complete ? flush::finish : flush::sync, coded);
        pending.assign(coded.view());
        if (!good) complete = false;
    }
    if (!ended) coder = std::move(c);
}

void body_channel::take_pending() {
    std::string bytes;
    {
        const std::lock_guard lock(mutex);
        bytes.swap(pending);
    }
    if (!bytes.empty()) at->send_piece(*this, bytes);
}

void body_channel::attach(connection& c, framing f, std::uint64_t length) {
    at = &c;
    how = f;
    left = length;
    pump();
}

void body_channel::pump() {
    const auto alive = shared_from_this();
    bool end = false;
    bool owed = false;
    {
        const std::lock_guard lock(mutex);
        posted = false;
        end = ended;
        owed = congested || !pending.empty();
    }
    if (at == nullptr) return;
    take_pending();
    if (end) {
        at->end_body(complete);
        return;
    }
    if (!owed || !at->flush()) return;  // broken: lost() follows
    const std::size_t n = at->unsent();
    {
        const std::lock_guard lock(mutex);
        unsent = n;
    }
    if (n == 0) drained();  // else the connection says so
}

void body_channel::drained() {
    const auto alive = shared_from_this();
    unique_function<void()> f;
    {
        const std::lock_guard lock(mutex);
        unsent = 0;
        if (!std::exchange(congested, false)) return;
        f = std::move(on_drained);
    }
    if (!f) return;
    if (!shielded(*handle, f)) return;
    const std::lock_guard lock(mutex);
    if (!over && !on_drained) on_drained = std::move(f);
}

void body_channel::lost() {
    const auto alive = shared_from_this();
    at = nullptr;
    unique_function<void()> drained;
    unique_function<void()> told;
    std::unique_ptr<piece_coder> unused;
    {
        const std::lock_guard lock(mutex);
        over = closed = true;
        was_lost = !ended;
        pending = {};
        if (!coding) unused = std::move(coder);
        drained = std::move(on_drained);  // destroyed when the lock is no longer held
        told = std::move(on_closed);
        if (ended) return;
    }
    if (told) shielded(*handle, told);
}

void body_source::read(body_reader::piece_handler piece, body_reader::end_handler end) {
    if (wanted || told) return;
    wanted = true;
    on_piece = std::move(piece);
    on_end = std::move(end);
    const auto alive = shared_from_this();
    if (at != nullptr) {
        at->body_flow_changed();
    } else {
        deliver_rest();
    }
}

void body_source::pause(bool on) {
    if (paused == on) return;
    paused = on;
    if (coded != nullptr && coded->giving) return;  // which goes on, or stops
    const auto alive = shared_from_this();
    if (!on && coded != nullptr) give_decoded({});
    if (paused != on) return;
    if (at != nullptr) {
        at->body_flow_changed();
    } else if (!on) {
        deliver_rest();
    }
}

namespace {

// Destroys the end handler, which most often owns the response, as an exception leaves the piece
// handler.
class stop_reading {
public:
    explicit stop_reading(body_source& of) noexcept : of_(&of) {}
    stop_reading(const stop_reading&) = delete;
    stop_reading& operator=(const stop_reading&) = delete;
    ~stop_reading() {
        if (std::uncaught_exceptions() == before_) return;
        of_->told = true;
        const auto gone = std::move(of_->on_end);
    }

private:
    body_source* of_;
    const int before_ = std::uncaught_exceptions();
};

}  // namespace

void body_source::decode_by(body_decoder by) {
    coded = std::make_unique<body_decoding>(std::move(by));
}

void body_source::piece(std::string_view bytes) {
    if (coded != nullptr) {
        give_decoded(bytes);
    } else {
        give(bytes);
    }
}

// The bytes that were left when the reader paused, then `bytes`.
void body_source::give_decoded(std::string_view bytes) {
    if (told) return;                        // nobody reads on
    constexpr std::size_t most = 64 * 1024;  // at a time
    const auto alive = shared_from_this();
    body_decoding& c = *coded;
    if (!c.waiting.empty()) {
        c.waiting.append(bytes);
        bytes = c.waiting.view();
    }
    const std::size_t came = bytes.size();
    errc failed = errc::none;
    c.giving = true;
    while (!told && !paused && failed == errc::none && (!bytes.empty() || c.by.has_more())) {
        c.plain.clear();
        failed = c.by.add(bytes, most, c.plain);
        if (failed == errc::none && !c.plain.empty()) give(c.plain.view());
    }
    c.giving = false;
    if (c.waiting.empty()) {
        c.waiting.append(bytes);
    } else {
        c.waiting.consume(came - bytes.size());
    }
    if (failed != errc::none && at != nullptr) at->refuse_body(failed);
}

void body_source::give(std::string_view bytes) {
    if (!on_piece) return;
    const auto alive = shared_from_this();
    callback_begins(*handle);
    if (!on_piece) return;  // that has answered the request whose body this is
    try {
        auto f = std::move(on_piece);
        const stop_reading at_exception(*this);
        f(bytes);
        if (!told) on_piece = std::move(f);
    } catch (...) {
        exception_left_callback(*handle, std::current_exception());
    }
}

void body_source::end(errc why) {
    at = nullptr;
    over = true;
    result = why;
    deliver_rest();
}

void body_source::forget() noexcept {
    at = nullptr;
    over = told = true;
    whole = {};
    const auto keep_until_here = std::pair(std::move(on_piece), std::move(on_end));
}

void body_source::deliver_rest() {
    if (!over || !wanted || told) return;
    const auto alive = shared_from_this();
    if (!whole.empty() && !paused) piece(std::exchange(whole, {}));
    if (told || (paused && result == errc::none)) return;
    told = true;
    auto f = std::move(on_end);
    const auto keep_until_here = std::move(on_piece);
    if (f) shielded(*handle, f, result);
}

}  // namespace detail

}  // namespace wire::http
