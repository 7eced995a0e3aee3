// io_uring: what one iteration does, and sources that are watched.
//
//     wait_and_dispatch()
//         submit what is queued, wait        unless something waits already
//         resumed streams                    what was withheld from them
//         early_                             completions taken out of the ring to make room
//         completions                        those that are there now, most_ at a time
//
//     a completion's kind    goes to
//     watch                  on_watched(): the source's callback, then the next poll
//     receive                on_received()
//     send                   on_sent()
//     connect                on_connected()
//     hangup                 on_hangup()
//     shut_down, closed      frees the slot
//     ignored                nobody: cancellations, resets
//
//     a source is    by                         its poll
//     watched        watch()                    one under way (armed), renewed after each report
//     reporting      its completion             none, until the callback returns
//     unwatched      unwatch()                  cancelled at once; its generation has passed
#include "uring_engine.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace wire::detail {

namespace {

std::uint32_t poll_mask(ready interest) noexcept {
    return (has(interest, ready::read) ? std::uint32_t{POLLIN} : 0U) |
           (has(interest, ready::write) ? std::uint32_t{POLLOUT} : 0U);
}

ready from_poll(int events) noexcept {
    ready r = ready::none;
    if ((events & POLLIN) != 0) r = r | ready::read;
    if ((events & POLLOUT) != 0) r = r | ready::write;
    if ((events & (POLLERR | POLLHUP)) != 0) r = r | ready::failed;
    return r;
}

}  // namespace

uring_engine::uring_engine(event_loop& loop, std::size_t most, std::unique_ptr<uring> ring)
    : engine(loop), most_(most), ring_(std::move(ring)) {
    slots_.reset(static_cast<slot*>(std::calloc(ring_->file_slots(), sizeof(slot))));
    if (slots_ == nullptr) throw std::bad_alloc();
}

[[gnu::cold]] result<std::unique_ptr<uring_engine>> uring_engine::create(
    event_loop& loop, const loop_options& options) {
    uring_settings settings;
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    // The kernel allows a table as many slots as the process may have files, and 2^20 at most.
    const auto most = static_cast<std::size_t>(std::min<rlim_t>(files.rlim_cur, 1U << 20));
    settings.files = static_cast<unsigned>(
        options.max_streams == 0 ? most : std::min(most, options.max_streams));
    settings.buffers = static_cast<unsigned>(
        std::bit_ceil(std::clamp<std::size_t>(options.receive_buffers, 16, 16'384)));
    settings.entries = static_cast<unsigned>(
        std::bit_ceil(std::clamp<std::size_t>(options.operations_per_call, 8, 4096)));
    // Room for what some iterations can bring: more waits in the kernel, but costs a call.
    settings.completions = std::min(settings.completions, 16 * settings.buffers);
    auto ring = uring::create(settings);
    if (!ring) return ring.error();
    // One iteration's receives never take more buffers than there are.
    return std::unique_ptr<uring_engine>(new uring_engine(
        loop,
        std::min<std::size_t>(std::max<std::size_t>(options.events_per_wait, 16), settings.buffers),
        *std::move(ring)));
}

std::size_t uring_engine::wait_and_dispatch(clock::duration longest, bool queued) {
    if (!ring_->started()) {
        // Cannot fail: it was made to be enabled once.
        [[maybe_unused]] const auto enabled = ring_->start();
    }
    if (queued || !early_.empty() || !resumed_.empty()) longest = clock::duration::zero();
    ring_->submit_and_wait(longest, most_);
    core_.refresh_now();
    std::size_t served = 0;
    if (!resumed_.empty() && serve_withheld()) ++served;
    if (!early_.empty()) {
        // What is added meanwhile is younger, and waits for the next iteration.
        for (std::size_t left = early_.size(); left > 0; --left) {
            const auto c = early_[early_served_++];
            served += dispatch(c) ? 1 : 0;
        }
        early_.erase(early_.begin(), early_.begin() + static_cast<std::ptrdiff_t>(early_served_));
        early_served_ = 0;
    }
    // No more than are there now: what is queued meanwhile may be complete as soon as it is
    // submitted. make_room() may take the rest out of the ring meanwhile, and what comes then is
    // younger.
    for (std::size_t left = ring_->ready();
         left > 0 && served < most_ && early_.empty() && ring_->ready() > 0; --left)
        served += dispatch(ring_->take()) ? 1 : 0;
    return served;
}

[[gnu::cold]] result<std::unique_ptr<engine>> make_uring_engine(event_loop& loop,
                                                                const loop_options& options) {
    auto made = uring_engine::create(loop, options);
    if (!made) return made.error();
    return std::unique_ptr<engine>(*std::move(made));
}

void uring_engine::submit() noexcept {
    if (ring_->has_queued()) ring_->work_off();
}

// That of completions and that of posts together: what one eventfd makes a ring say to another is
// told only after an RCU grace period, which is milliseconds.
int uring_engine::descriptor() noexcept {
    if (both_) return both_.get();
    unique_fd both(::epoll_create1(EPOLL_CLOEXEC));
    if (!both) return -1;
    for (const int fd : {ring_->descriptor(), core_.wake_descriptor()}) {
        epoll_event event{};
        event.events = EPOLLIN;
        if (::epoll_ctl(both.get(), EPOLL_CTL_ADD, fd, &event) != 0) return -1;
    }
    both_ = std::move(both);
    return both_.get();
}

void uring_engine::queue(const io_uring_sqe& operation) {
    if (ring_->full() && ring_->started()) make_room();
    ring_->queue(operation);
}

// Submits in the middle of an iteration. Sends that are complete give their buffers back at once,
// so that a burst on all of many connections holds buffers for few, and slots are free at once;
// other completions wait in early_.
void uring_engine::make_room() noexcept {
    ring_->submit();
    while (ring_->ready() > 0) {
        const auto c = ring_->take();
        const auto index = static_cast<std::uint32_t>(c.user_data >> 8) & 0xffffffU;
        if (static_cast<kind>(c.user_data & 0xff) == kind::closed) {
            dispatch(c);
            continue;
        }
        if (static_cast<kind>(c.user_data & 0xff) == kind::send && on_sent(index, c.result, false))
            continue;
        early_.push_back(c);
    }
}

// A slot is free when the kernel says that its socket is closed. Closing one connection and opening
// another in the same iteration, with all other slots in use, has to find that out at once.
void uring_engine::reclaim_slots() noexcept {
    ring_->work_off();
    while (ring_->ready() > 0) {
        const auto c = ring_->take();
        if (static_cast<kind>(c.user_data & 0xff) == kind::closed) {
            dispatch(c);
        } else {
            early_.push_back(c);
        }
    }
}

void uring_engine::cancel(std::uint64_t target) noexcept {
    io_uring_sqe e{};
    e.opcode = IORING_OP_ASYNC_CANCEL;
    e.fd = -1;
    e.addr = target;
    e.flags = IOSQE_CQE_SKIP_SUCCESS;
    e.user_data = tag(kind::ignored, 0, 0);
    queue(e);
}

bool uring_engine::dispatch(const uring::completion& c) {
    const auto index = static_cast<std::uint32_t>(c.user_data >> 8) & 0xffffffU;
    const auto generation = static_cast<std::uint32_t>(c.user_data >> 32);
    switch (static_cast<kind>(c.user_data & 0xff)) {
    case kind::ignored: return false;
    case kind::watch: return on_watched(index, generation, c.result);
    case kind::receive: return on_received(index, generation, c);
    case kind::send: return on_sent(index, c.result, true);
    case kind::connect: return on_connected(index, c.result);
    case kind::hangup: return on_hangup(index, generation, c);
    case kind::shut_down:
        slots_[index].shutting_down = false;
        if (slots_[index].leaving) free_socket(index);
        return false;
    case kind::closed:
        slots_[index].link = free_slot_;
        free_slot_ = index + 1;
        return false;
    }
    return false;
}

// ---- sources ----

result<void> uring_engine::watch(io_source& source, int fd, ready interest) {
    struct stat what;
    const bool is_open = ::fstat(fd, &what) == 0;
    // A poll says of files and folders that they are ready, at all times.
    if (!is_open || S_ISREG(what.st_mode) || S_ISDIR(what.st_mode))
        return system_failure(is_open ? EPERM : errno, "cannot watch a descriptor");
    const auto index = static_cast<std::size_t>(fd);
    if (index >= watched_.size()) watched_.resize(index + 1);
    if (watched_[index].source != nullptr)
        return system_failure(EEXIST, "cannot watch a descriptor");
    watched_[index].source = &source;
    watched(source, fd, interest);
    arm(fd);
    return {};
}

// Level-triggered: a poll that reports once, renewed after each report.
void uring_engine::arm(int fd) {
    watch_slot& w = watched_[static_cast<std::size_t>(fd)];
    w.armed = true;
    io_uring_sqe e{};
    e.opcode = IORING_OP_POLL_ADD;
    e.fd = fd;
    e.poll32_events = poll_mask(w.source->interest_) | POLLERR | POLLHUP;
    e.user_data = tag(kind::watch, static_cast<std::uint32_t>(fd), ++w.generation);
    queue(e);
}

void uring_engine::rewatch(io_source& source, ready interest) noexcept {
    if (source.interest_ == interest) return;
    source.interest_ = interest;
    const watch_slot& w = watched_[static_cast<std::size_t>(source.fd_)];
    if (!w.armed) return;  // its report is being served
    cancel(tag(kind::watch, static_cast<std::uint32_t>(source.fd_), w.generation));
    arm(source.fd_);
}

void uring_engine::unwatch(io_source& source) noexcept {
    watch_slot& w = watched_[static_cast<std::size_t>(source.fd_)];
    if (w.armed) {
        cancel(tag(kind::watch, static_cast<std::uint32_t>(source.fd_), w.generation));
        // At once: until then the kernel keeps the file, so that its owner's close() would not
        // close it.
        ring_->work_off();
    }
    ++w.generation;
    w.armed = false;
    w.source = nullptr;
    unwatched(source);
}

bool uring_engine::on_watched(std::uint32_t fd, std::uint32_t generation, int result) {
    if (watched_[fd].generation != generation) return false;
    watched_[fd].armed = false;
    io_source& source = *watched_[fd].source;
    if (result != -ECANCELED)
        source.on_ready_(source, result < 0 ? ready::failed : from_poll(result));
    // The callback may have unwatched or destroyed it, or another may be watched there by now.
    watch_slot& w = watched_[fd];
    if (w.generation == generation && !w.armed) arm(static_cast<int>(fd));
    return true;
}

}  // namespace wire::detail
