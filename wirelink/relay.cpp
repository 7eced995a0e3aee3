// Waits for packets, for the next one due and for the end, whichever comes first.
#include "relay.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace wirelink {
namespace {

// The packet size that a TUN device can hand over at once; the device's MTU is 1500 and stays so.
using packet_buffer = std::array<std::byte, 65536>;

// Packets taken from each end before the clock's timer and the end are looked at again.
constexpr int packets_at_once = 64;

nanoseconds monotonic_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

// Returns whether there was a packet.
bool take_arrival(int from, delay_line& line, packet_buffer& buffer, direction way,
                  recorder* record) {
    const ssize_t size = ::read(from, buffer.data(), buffer.size());
    if (size <= 0) return false;  // EAGAIN: all taken
    const nanoseconds now = monotonic_now();
    const std::span packet(buffer.data(), static_cast<std::size_t>(size));
    const auto due = line.push(now, packet);
    if (record != nullptr) record->note(way, now, due, packet);
    return true;
}

void deliver_due(int to, delay_line& line, lateness& late) {
    line.pop_due(monotonic_now(), [&](std::span<const std::byte> packet, nanoseconds due) {
        // A device whose queue is full drops the packet, as a router would; TCP repairs it.
        [[maybe_unused]] const ssize_t written = ::write(to, packet.data(), packet.size());
        late.note(monotonic_now() - due);
    });
}

void arm(int timer, const delay_line& first, const delay_line& second) {
    std::optional<nanoseconds> next = first.next_due();
    if (const auto other = second.next_due(); other && (!next || *other < *next)) next = other;
    itimerspec when{};  // zero disarms
    if (next) {
        const auto count = std::max<nanoseconds::rep>(1, next->count());
        when.it_value.tv_sec = count / 1'000'000'000;
        when.it_value.tv_nsec = count % 1'000'000'000;
    }
    ::timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, nullptr);
}

// A device that was deleted is ready at any time and gives nothing: to wait for it would take the
// core, at a priority above all others.
void refuse_gone(const pollfd& device, const char* whose) {
    if ((device.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0) return;
    throw std::runtime_error(std::string("the device of the ") + whose +
                             "'s end is gone; leave both devices where they are until the link "
                             "ends");
}

}  // namespace

bool become_punctual() {
    ::prctl(PR_SET_TIMERSLACK, 1UL);  // nanoseconds; 50 us by default
    // The request holds as long as the descriptor is open: the kernel's pm_qos_interface.rst.
    static const int awake = ::open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
    constexpr std::int32_t no_latency_us = 0;
    if (awake >= 0) {
        [[maybe_unused]] const ssize_t asked =
            ::write(awake, &no_latency_us, sizeof(no_latency_us));
    }
    sched_param priority{};
    priority.sched_priority = ::sched_get_priority_min(SCHED_FIFO);
    return ::sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
}

lateness relay(int server, int client, delay_line& upstream, delay_line& downstream, int stop,
               recorder* record) {
    const int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (timer < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
    lateness late;
    packet_buffer buffer;
    std::array<pollfd, 4> watched{
        {{server, POLLIN, 0}, {client, POLLIN, 0}, {timer, POLLIN, 0}, {stop, POLLIN, 0}}};
    while (true) {
        arm(timer, upstream, downstream);
        if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) break;
        if (watched[3].revents != 0) break;
        refuse_gone(watched[0], "server");
        refuse_gone(watched[1], "client");
        // Setting the timer again clears an expiry that nobody read.
        // What is due goes out between any two arrivals: a flood must not hold up what is in
        // flight.
        bool from_server = true;
        bool from_client = true;
        for (int taken = 0; taken < packets_at_once && (from_server || from_client); ++taken) {
            from_server = from_server &&
                          take_arrival(server, downstream, buffer, direction::downstream, record);
            from_client =
                from_client && take_arrival(client, upstream, buffer, direction::upstream, record);
            deliver_due(server, upstream, late);
            deliver_due(client, downstream, late);
        }
    }
    ::close(timer);
    return late;
}

}  // namespace wirelink
