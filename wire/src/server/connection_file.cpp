// How a connection sends files: by sendfile(2) where the socket is plain, else by reading pieces.
#include <signal.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "connection.hpp"
#include "worker.hpp"

namespace wire::http::detail {

namespace {

// Read at once; files up to it go in one write with their head.
constexpr std::size_t piece = 64 * 1024;
constexpr std::size_t most_waiting = 4 * piece;  // read ahead of the peer
constexpr std::size_t most_at_once = 1 << 20;    // asked of sendfile(2)
// Sent in one loop iteration, so that the loop's other connections are served too.
constexpr std::uint64_t most_per_iteration = 4 << 20;

// sendfile(2) has no MSG_NOSIGNAL: where the peer has gone the signal is kept from this thread and
// taken back, unless one waited before.
ssize_t send_from(int socket, int file, std::uint64_t offset, std::size_t n) noexcept {
    sigset_t pipe;
    sigset_t mask;
    sigset_t waiting;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &pipe, &mask);
    auto from = static_cast<off_t>(offset);
    const ssize_t sent = ::sendfile(socket, file, &from, n);
    const int number = errno;
    // Also after a part has gone.
    if (sent != static_cast<ssize_t>(n) && sigismember(&waiting, SIGPIPE) == 0) {
        const timespec at_once{};
        sigtimedwait(&pipe, nullptr, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    errno = number;
    return sent;
}

}  // namespace

void connection::send_file(response res, std::shared_ptr<file_body> file) {
    response_access::of(res).file = std::move(file);
    res.send();
}

void connection::begin_file(exchange& e, bool keep_alive) {
    const std::uint64_t size = e.file->size();
    e.close = !keep_alive;
    e.body.clear();
    write_response(e, keep_alive, framing::length, size);
    if (e.req.head_.method == method::head || is_bodiless(e.status)) {
        const bool received = phase_ == phase::handling;
        finish_response(e, keep_alive, received && !e.req.head_.keep_alive);
        return;
    }
    e.file->at = this;
    e.file->copied = size <= piece;
    pump_file();
    go_on();
}

// Sends what the peer takes. Goes on when on_drained() says that it took what had to wait, or in
// the next loop iteration.
void connection::pump_file() {
    exchange& e = *current_;
    const auto body = e.file;
    for (std::uint64_t left = most_per_iteration;;) {
        if (body->next == body->parts.size()) {
            out().append(body->after);
            e.bytes_out += body->after.size();
            flush_later();
            const bool received = phase_ == phase::handling;
            finish_response(e, received && !e.close, received && !e.req.head_.keep_alive);
            return;
        }
        file_body::part& part = body->parts[body->next];
        if (!part.before.empty()) {
            e.bytes_out += part.before.size();
            write(std::exchange(part.before, {}));
        }
        if (part.length == 0) {
            ++body->next;
            continue;
        }
        const bool direct = !body->copied && fd() >= 0 && filter() == nullptr;
        if (unsent() > (direct ? 0 : most_waiting) && (!flush() || unsent() > 0)) return;
        if (left == 0) {
            worker_->loop().post([body] {
                if (body->at != nullptr) body->at->on_drained();
            });
            return;
        }
        ssize_t n = -1;
        errno = EAGAIN;
        if (direct) {
            last_write_ = worker_->loop().now();
            n = send_from(fd(), body->file.get(), part.offset,
                          static_cast<std::size_t>(
                              std::min<std::uint64_t>({part.length, left, most_at_once})));
            // The stream has not seen them.
            if (n > 0) taken_before_ -= static_cast<std::uint64_t>(n);
            // Not with this file system.
            if (n < 0 && (errno == EINVAL || errno == ENOSYS)) body->copied = true;
            if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
                drop();
                return;
            }
        }
        // Also where the socket is full: there is something to wait for then.
        if (n < 0 && (body->copied || errno == EAGAIN)) {
            const auto most =
                static_cast<std::size_t>(std::min<std::uint64_t>({part.length, left, piece}));
            n = ::pread(body->file.get(), out().prepare(most).data(), most,
                        static_cast<off_t>(part.offset));
            if (n > 0) {
                out().commit(static_cast<std::size_t>(n));
                flush_later();
            }
        }
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {  // it has become shorter, or cannot be read
            cut_off(errc::none);
            return;
        }
        e.bytes_out += static_cast<std::uint64_t>(n);
        part.offset += static_cast<std::uint64_t>(n);
        part.length -= static_cast<std::uint64_t>(n);
        left -= static_cast<std::uint64_t>(n);
    }
}

}  // namespace wire::http::detail
