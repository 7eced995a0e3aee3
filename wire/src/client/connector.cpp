// Races the addresses of one host (RFC 8305). The events are listed in connector.hpp.
#include "connector.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "loop/socket_parts.hpp"
#include "wire/loop/stream.hpp"
#include "wire/loop/unix_socket.hpp"

namespace wire::detail {

namespace {

constexpr std::chrono::milliseconds shortest_delay{10};  // RFC 8305 section 5
constexpr std::chrono::milliseconds full_queue_pause{10};
constexpr std::size_t longest_description = 512;  // a name may have any number of addresses

}  // namespace

std::vector<address> interleave(const std::vector<address>& addresses) {
    std::vector<address> same;
    std::vector<address> other;
    for (const address& a : addresses)
        (a.family() == addresses.front().family() ? same : other).push_back(a);
    std::vector<address> out;
    out.reserve(addresses.size());
    for (std::size_t i = 0; i < std::max(same.size(), other.size()); ++i) {
        if (i < same.size()) out.push_back(same[i]);
        if (i < other.size()) out.push_back(other[i]);
    }
    return out;
}

connector::connector(event_loop& loop, const connect_options& options,
                     std::chrono::milliseconds delay, bool blocks)
    : iteration_hook(&connector::on_iteration_end),
      loop_(&loop),
      options_(options),
      delay_(std::max(capped(delay), shortest_delay)),
      blocks_(blocks) {}

void connector::start(std::vector<address> addresses, callback done) {
    untried_ = std::move(addresses);
    std::reverse(untried_.begin(), untried_.end());
    done_ = std::move(done);
    last_ = errc::not_resolved;
    begin();
}

void connector::start_unix(std::string path, callback done) {
    unix_path_ = std::move(path);
    start({address::unix_peer()}, std::move(done));
}

bool connector::go_on(callback done) {
    if (untried_.empty()) return false;
    done_ = std::move(done);
    begin();
    return true;
}

void connector::begin() {
    if (!try_next()) loop_->arm(timer_, loop_->now());  // to fail from there
}

std::string connector::describe_attempts() const {
    std::string text = failures_;
    for (const auto& a : attempts_) {
        if (!text.empty()) text += "; ";
        text += a->to.to_string() + ": no answer";
        if (text.size() > longest_description) break;
    }
    return text;
}

void connector::stop() noexcept {
    loop_->disarm(timer_);
    iteration_hook::unlink();
    winner_ = nullptr;
    attempts_.clear();
}

// Also called when the delay has passed.
void connector::next() {
    if (winner_ != nullptr) return;
    if (!try_next() && attempts_.empty())
        finish(error(last_.code, "connect: " + describe_attempts()));
}

// False when there is none left.
bool connector::try_next() {
    while (!untried_.empty()) {
        auto made = std::make_unique<attempt>(*this, untried_.back());
        untried_.pop_back();
        bool stands = false;
        auto socket = connect(made->to, stands);
        result<void> watching;
        if (socket) {
            made->socket = *std::move(socket);
            if (!stands) watching = loop_->watch(*made, made->socket.get(), ready::write);
        }
        if (!socket || !watching) {
            const error& why = socket ? watching.error() : socket.error();
            if (try_later(made->to, why)) return true;
            failed(why);
            continue;
        }
        attempts_.push_back(std::move(made));
        if (stands) {
            winner_ = attempts_.back().get();
            loop_->at_iteration_end(*this);
        } else if (!untried_.empty()) {
            loop_->arm_after(timer_, delay_);
        }
        return true;
    }
    return false;
}

// Only the kernel of a Unix socket says so; it tells nobody when there is room again.
bool connector::try_later(const address& to, const error& why) {
    if (why.code != errc::queue_full) return false;
    if (failures_.empty()) failed(why);
    untried_.push_back(to);
    loop_->arm_after(timer_, full_queue_pause);
    return true;
}

result<unique_fd> connector::connect(const address& to, bool& stands) {
    if (to.family() == AF_UNIX) {
        auto made = connect_unix(unix_path_);
        stands = made.ok();
        // Who waits in recv() itself wants a socket that waits.
        if (made && blocks_) ::fcntl(made->get(), F_SETFL, 0);
        return made;
    }
    using std::chrono::milliseconds;
    auto longest = std::min<clock::duration>(stream::alone_at_most, loop_->next_timeout());
    if (!untried_.empty()) longest = std::min(longest, delay_);
    if (!blocks_ || longest < milliseconds(1)) return connect_tcp(to, options_);
    auto waited = connect_waiting(to, options_,
                                  std::chrono::duration_cast<std::chrono::microseconds>(longest));
    if (!waited) return waited.error();
    stands = waited->stands;
    return std::move(waited->socket);
}

void connector::on_iteration_end(iteration_hook& hook) noexcept {
    auto& c = static_cast<connector&>(hook);
    c.decided(*std::exchange(c.winner_, nullptr), 0);
}

void connector::on_ready(io_source& source, ready) noexcept {
    auto& a = static_cast<attempt&>(source);
    int number = 0;
    socklen_t size = sizeof number;
    if (::getsockopt(a.socket.get(), SOL_SOCKET, SO_ERROR, &number, &size) != 0) number = errno;
    a.owner->decided(a, number);
}

void connector::decided(attempt& a, int number) {
    loop_->unwatch(a);
    const auto it = std::find_if(attempts_.begin(), attempts_.end(),
                                 [&a](const auto& p) { return p.get() == &a; });
    const auto mine = std::move(*it);
    attempts_.erase(it);
    if (number != 0) {
        failed(system_failure(number, mine->to.to_string()));
        next();  // without waiting for the delay
        return;
    }
    // The slower ones are tried once more should this connection prove useless.
    for (auto loser = attempts_.rbegin(); loser != attempts_.rend(); ++loser)
        untried_.push_back((*loser)->to);
    finish(std::move(mine->socket));
}

void connector::failed(error why) {
    if (failures_.size() <= longest_description) {
        if (!failures_.empty()) failures_ += "; ";
        failures_ += why.message;
    }
    last_ = std::move(why);
}

void connector::finish(result<unique_fd> got) {
    stop();
    std::exchange(done_, nullptr)(std::move(got));
}

}  // namespace wire::detail
