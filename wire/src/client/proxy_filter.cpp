// TLS inside TLS: bytes pass the outer filter, then, once there is one, the inner filter.
#include "proxy_filter.hpp"

#include <utility>

namespace wire::detail {

result<void> proxy_filter::nest(std::unique_ptr<stream_filter> with_server, buffer& out,
                                unique_function<void()> opened) {
    inner_ = std::move(with_server);
    opened_ = std::move(opened);
    return inner_->begin(out);
}

result<void> proxy_filter::begin(buffer& to_peer) {
    auto begun = outer_->begin(to_peer);
    if (!begun) return of_proxy(begun.error());
    return begun;
}

// Decrypts all of `raw` into between_, which is therefore bounded as `raw` is.
void proxy_filter::open_outer(std::span<const char> raw, buffer& to_peer) {
    constexpr std::size_t step_bytes = 16 * 1024;
    for (bool more = true; more && !outer_failed_ && !outer_->has_ended();) {
        const auto space = between_.prepare(step_bytes);
        const auto s = outer_->receive(raw, space, to_peer);
        if (!s) {
            outer_failed_ = of_proxy(s.error());
            return;
        }
        between_.commit(s->produced);
        raw = raw.subspan(s->consumed);
        more = !raw.empty() || s->produced == space.size() || s->again;
    }
}

result<stream_filter::step> proxy_filter::receive(std::span<const char> raw, std::span<char> plain,
                                                  buffer& to_peer) {
    if (inner_ == nullptr) {
        auto s = outer_->receive(raw, plain, to_peer);
        if (!s) return of_proxy(s.error());
        return s;
    }
    if (refused_) return refused_;
    open_outer(raw, to_peer);
    step done{raw.size(), 0};
    // What came before is good, and is given out first.
    const auto refuse = [&](error why) -> result<step> {
        if (done.produced == 0) return why;
        refused_ = std::move(why);
        done.again = true;
        return done;
    };
    buffer answer;
    for (bool more = true; more && done.produced < plain.size() && !inner_->has_ended();) {
        const bool was_open = inner_->is_open();
        const auto s = inner_->receive(between_.bytes(), plain.subspan(done.produced), answer);
        if (!s) {
            // Sends the alert through the tunnel, if the proxy's TLS still takes it.
            if (!answer.empty() && !outer_failed_) (void)outer_->send(answer.view(), to_peer);
            return refuse(s.error());
        }
        between_.consume(s->consumed);
        done.produced += s->produced;
        const bool opened = !was_open && inner_->is_open();
        if (opened) std::exchange(opened_, nullptr)();
        more = !between_.empty() || s->again || opened;
    }
    if (between_.empty()) between_.release();
    if (!answer.empty() && !outer_failed_) {
        if (const auto sent = outer_->send(answer.view(), to_peer); !sent)
            outer_failed_ = of_proxy(sent.error());
    }
    if (done.produced == plain.size() || inner_->has_ended()) return done;
    if (outer_failed_) return refuse(outer_failed_);
    // Only the server itself may end its bytes: a proxy could cut them off unseen.
    if (outer_->has_ended()) {
        return refuse({errc::truncated,
                       "proxy " + name_ + ": it ended the connection before the server did"});
    }
    return done;
}

result<void> proxy_filter::send(std::string_view plain, buffer& to_peer) {
    buffer inner;
    if (server_is_open()) {
        if (auto sent = inner_->send(plain, inner); !sent) return sent;
        plain = inner.view();
    }
    auto sent = outer_->send(plain, to_peer);
    if (!sent) return of_proxy(sent.error());
    return sent;
}

void proxy_filter::finish(buffer& to_peer) noexcept {
    if (server_is_open()) {
        buffer last;
        inner_->finish(last);
        if (!last.empty() && !outer_->send(last.view(), to_peer)) return;
    }
    outer_->finish(to_peer);
}

}  // namespace wire::detail
