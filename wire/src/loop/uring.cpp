// The ring's system calls and its memory: set-up, submission, completions, buffers.
#include "uring.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <string>

namespace wire::detail {

namespace {

// Kernels since 6.13 work off some twenty completions at a call: where as many as this came there
// may be more.
constexpr std::size_t about_all = 16;

int sys_setup(unsigned entries, io_uring_params* p) noexcept {
    return static_cast<int>(::syscall(__NR_io_uring_setup, entries, p));
}
int sys_enter(int fd, unsigned submit, unsigned wait_for, unsigned flags, const void* argument,
              std::size_t size) noexcept {
    return static_cast<int>(
        ::syscall(__NR_io_uring_enter, fd, submit, wait_for, flags, argument, size));
}
int sys_register(int fd, unsigned what, const void* argument, unsigned count) noexcept {
    return static_cast<int>(::syscall(__NR_io_uring_register, fd, what, argument, count));
}

unsigned load(const unsigned* shared) noexcept {
    return std::atomic_ref(*const_cast<unsigned*>(shared)).load(std::memory_order_acquire);
}
void store(unsigned* shared, unsigned value) noexcept {
    std::atomic_ref(*shared).store(value, std::memory_order_release);
}

template <typename T> T* at(void* base, unsigned offset) noexcept {
    return reinterpret_cast<T*>(static_cast<char*>(base) + offset);
}

// Why there is no ring, and what to do about it.
error forbidden(int number) {
    error out = system_failure(number, "cannot use io_uring");
    switch (number) {
    case ENOSYS:
        out.message += " (this kernel has none, or a container's seccomp filter hides it)";
        break;
    case EINVAL: out.message += " (it needs Linux 6.1 or later)"; break;
    case ENOMEM: out.message += " (out of memory, or of locked memory: ulimit -l)"; break;
    case EPERM: {
        int disabled = 0;
        std::ifstream("/proc/sys/kernel/io_uring_disabled") >> disabled;
        if (disabled == 2) {
            out.message +=
                " (forbidden on this host: sysctl kernel.io_uring_disabled is 2; 0 allows it)";
        } else if (disabled == 1) {
            out.message +=
                " (sysctl kernel.io_uring_disabled is 1: only for CAP_SYS_ADMIN and the group "
                "kernel.io_uring_group)";
        } else {
            out.message += " (a security policy forbids it, such as a container's seccomp filter)";
        }
        break;
    }
    default: break;
    }
    return out;
}

}  // namespace

result<std::unique_ptr<uring>> uring::create(const uring_settings& settings) {
    std::unique_ptr<uring> ring(new uring());
    if (auto r = ring->set_up(settings); !r) return r.error();
    if (auto r = ring->set_up_buffers(settings); !r) return r.error();
    return ring;
}

[[gnu::cold]] result<void> uring::set_up(const uring_settings& settings) {
    io_uring_params p{};
    // Disabled at first: the ring belongs to the thread that enables it, and that need not be the
    // one that makes it.
    p.flags = IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
              IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
    p.cq_entries = settings.completions;
    // Entries are used in order, so that the table of their numbers is of no use (Linux 6.6).
    constexpr unsigned no_table = 1U << 16;  // IORING_SETUP_NO_SQARRAY
    io_uring_params with_table = p;
    p.flags |= no_table;
    fd_ = sys_setup(settings.entries, &p);
    if (fd_ < 0 && errno == EINVAL) {
        p = with_table;
        fd_ = sys_setup(settings.entries, &p);
    }
    if (fd_ < 0) return forbidden(errno);
    if ((p.features & IORING_FEAT_SINGLE_MMAP) == 0 || (p.features & IORING_FEAT_NODROP) == 0)
        return forbidden(EINVAL);
    sq_entries_ = p.sq_entries;
    cq_entries_ = p.cq_entries;

    rings_bytes_ = std::max<std::size_t>(p.sq_off.array + p.sq_entries * sizeof(unsigned),
                                         p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe));
    rings_ = ::mmap(nullptr, rings_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_,
                    IORING_OFF_SQ_RING);
    if (rings_ == MAP_FAILED) {
        rings_ = nullptr;
        return system_failure(errno, "cannot map the rings of io_uring");
    }
    sqes_bytes_ = p.sq_entries * sizeof(io_uring_sqe);
    void* const sqes = ::mmap(nullptr, sqes_bytes_, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_POPULATE, fd_, IORING_OFF_SQES);
    if (sqes == MAP_FAILED) return system_failure(errno, "cannot map the rings of io_uring");
    sqes_ = static_cast<io_uring_sqe*>(sqes);
    sq_shared_head_ = at<unsigned>(rings_, p.sq_off.head);
    sq_shared_tail_ = at<unsigned>(rings_, p.sq_off.tail);
    cq_shared_head_ = at<unsigned>(rings_, p.cq_off.head);
    cq_shared_tail_ = at<unsigned>(rings_, p.cq_off.tail);
    cqes_ = at<io_uring_cqe>(rings_, p.cq_off.cqes);
    if ((p.flags & no_table) == 0) {
        // Each place always names its own.
        auto* const array = at<unsigned>(rings_, p.sq_off.array);
        for (unsigned i = 0; i < sq_entries_; ++i) array[i] = i;
    }

    io_uring_rsrc_register table{};
    table.nr = settings.files;
    table.flags = IORING_RSRC_REGISTER_SPARSE;
    if (sys_register(fd_, IORING_REGISTER_FILES2, &table, sizeof table) < 0) {
        error out = system_failure(
            errno, "cannot make io_uring's table of " + std::to_string(settings.files) + " files");
        if (errno == EMFILE)
            out.message +=
                " (it may have no more slots than this process may open files: ulimit -n)";
        return out;
    }
    files_ = settings.files;
    return {};
}

[[gnu::cold]] result<void> uring::set_up_buffers(const uring_settings& settings) {
    const auto map = [](std::size_t bytes) -> void* {
        void* const p =
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return p == MAP_FAILED ? nullptr : p;
    };
    buffers_ = settings.buffers;
    buffer_bytes_ = settings.buffer_bytes;
    buffer_ring_bytes_ = buffers_ * sizeof(io_uring_buf);
    buffer_memory_bytes_ = buffers_ * buffer_stride();
    buffer_ring_ = static_cast<io_uring_buf*>(map(buffer_ring_bytes_));
    buffer_memory_ = static_cast<char*>(map(buffer_memory_bytes_));
    if (buffer_ring_ == nullptr || buffer_memory_ == nullptr)
        return system_failure(ENOMEM, "cannot map buffers for io_uring");
    io_uring_buf_reg ring{};
    ring.ring_addr = reinterpret_cast<std::uint64_t>(buffer_ring_);
    ring.ring_entries = buffers_;
    ring.bgid = buffer_group;
    if (sys_register(fd_, IORING_REGISTER_PBUF_RING, &ring, 1) < 0)
        return system_failure(errno, "cannot give io_uring its buffers");
    for (unsigned id = 0; id < buffers_; ++id) recycle(id);
    return {};
}

uring::~uring() {
    // Operations under way end with the ring; the kernel touches our memory no more once it is
    // closed.
    if (fd_ >= 0) ::close(fd_);
    if (event_fd_ >= 0) ::close(event_fd_);
    if (rings_ != nullptr) ::munmap(rings_, rings_bytes_);
    if (sqes_ != nullptr) ::munmap(sqes_, sqes_bytes_);
    if (buffer_ring_ != nullptr) ::munmap(buffer_ring_, buffer_ring_bytes_);
    if (buffer_memory_ != nullptr) ::munmap(buffer_memory_, buffer_memory_bytes_);
}

result<void> uring::start() {
    if (sys_register(fd_, IORING_REGISTER_ENABLE_RINGS, nullptr, 0) < 0)
        return system_failure(errno, "cannot enable io_uring");
    started_ = true;
    return {};
}

int uring::descriptor() noexcept {
    if (event_fd_ >= 0) return event_fd_;
    // Readable at first: nobody knows what has come before.
    event_fd_ = ::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    if (event_fd_ >= 0 && sys_register(fd_, IORING_REGISTER_EVENTFD, &event_fd_, 1) < 0) {
        ::close(event_fd_);
        event_fd_ = -1;
    }
    return event_fd_;
}

bool uring::has_work() const noexcept {
    pollfd p{fd_, POLLIN, 0};
    return ::poll(&p, 1, 0) > 0;
}

void uring::queue(const io_uring_sqe& operation) {
    if (full()) {
        waiting_.push_back(operation);
        return;
    }
    sqes_[sq_tail_ & (sq_entries_ - 1)] = operation;
    ++sq_tail_;
}

// Takes the operations that were kept aside into the places that came free.
void uring::advance() noexcept {
    std::size_t n = 0;
    for (; n < waiting_.size() && sq_tail_ - submitted_ < sq_entries_; ++n) {
        sqes_[sq_tail_ & (sq_entries_ - 1)] = waiting_[n];
        ++sq_tail_;
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(n));
}

int uring::enter(unsigned wait_for, unsigned flags, const clock::duration* longest) noexcept {
    store(sq_shared_tail_, sq_tail_);
    __kernel_timespec limit{};
    io_uring_getevents_arg argument{};
    argument.sigmask_sz = sizeof(std::uint64_t);
    if (longest != nullptr) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*longest);
        limit.tv_sec = seconds.count();
        limit.tv_nsec = std::chrono::nanoseconds(*longest - seconds).count();
        argument.ts = reinterpret_cast<std::uint64_t>(&limit);
    }
    const int n = sys_enter(fd_, sq_tail_ - submitted_, wait_for, flags | IORING_ENTER_EXT_ARG,
                            &argument, sizeof argument);
    submitted_ = load(sq_shared_head_);
    if (!waiting_.empty()) advance();
    return n;
}

void uring::submit() noexcept {
    // Bounded: a kernel that takes nothing (a wrong thread, no memory) is asked again in the next
    // iteration.
    while (started_ && has_queued() && enter(0, 0, nullptr) > 0) {}
}

void uring::work_off() noexcept {
    if (!started_) return;
    std::size_t before = 0;
    do {
        before = ready();
        while (enter(0, IORING_ENTER_GETEVENTS, nullptr) > 0 && has_queued()) {}
    } while (ready() - before >= about_all);
}

void uring::submit_and_wait(clock::duration longest, std::size_t most) noexcept {
    if (event_fd_ >= 0) {
        std::uint64_t ignored = 0;
        [[maybe_unused]] const auto n = ::read(event_fd_, &ignored, sizeof ignored);
    }
    if (!waiting_.empty()) submit();
    const bool wait = longest > clock::duration::zero() && ready() == 0;
    enter(wait ? 1 : 0, IORING_ENTER_GETEVENTS,
          wait && longest != clock::duration::max() ? &longest : nullptr);
    // All of an iteration are taken before any is served: what is written afterwards then leaves in
    // one large batch.
    for (std::size_t before = 0, now = ready(); now - before >= about_all && now < most;
         now = ready()) {
        before = now;
        enter(0, IORING_ENTER_GETEVENTS, nullptr);
    }
}

std::size_t uring::ready() const noexcept { return load(cq_shared_tail_) - *cq_shared_head_; }

uring::completion uring::peek(std::size_t i) const noexcept {
    const io_uring_cqe& c = cqes_[(*cq_shared_head_ + i) & (cq_entries_ - 1)];
    return {c.user_data, c.res, c.flags};
}

uring::completion uring::take() noexcept {
    const completion c = peek(0);
    store(cq_shared_head_, *cq_shared_head_ + 1);
    return c;
}

result<void> uring::install(unsigned slot, int fd) noexcept {
    io_uring_files_update update{};
    update.offset = slot;
    update.fds = reinterpret_cast<std::uint64_t>(&fd);
    if (sys_register(fd_, IORING_REGISTER_FILES_UPDATE, &update, 1) != 1)
        return system_failure(errno, "cannot give a socket to io_uring");
    return {};
}

void uring::recycle(unsigned id) noexcept {
    // The tail lies where entry 0 has its unused half (io_uring_buf_ring); entries must be written
    // around it.
    io_uring_buf& entry = buffer_ring_[buffer_tail_ & (buffers_ - 1)];
    entry.addr = reinterpret_cast<std::uint64_t>(buffer(id).data());
    entry.len = buffer_bytes_;
    entry.bid = static_cast<std::uint16_t>(id);
    ++buffer_tail_;
    std::atomic_ref(buffer_ring_[0].resv).store(buffer_tail_, std::memory_order_release);
}

}  // namespace wire::detail
