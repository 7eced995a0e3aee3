#include "engine/pacer.hpp"

#include <sys/resource.h>

#include <ctime>

#include "engine/connection.hpp"

namespace wireload {
namespace {

// Requests sent in one loop iteration at most. Replies are looked at once an iteration, so a longer
// one would see them late.
constexpr int sends_per_iteration = 32;

// How long before a request is due the loop asks for events without sleeping: a sleeping thread is
// woken some 5 to 60 us late, by the timer's interrupt, by the core's way out of idle and by the
// scheduler.
constexpr nanos spin_before = 60'000;

// Without sleeping, an empty look takes a microsecond or two. One that took longer was interrupted,
// by another task or by the host of a virtual machine.
constexpr nanos interrupted_look = 10'000;

// A loop that does not spin sends what comes due in so long together, and sees replies no sooner:
// to sleep and be woken costs far more CPU than to send and receive. Latencies end with the
// kernel's stamp all the same. Far below what displacement matters from
// (docs/decisions/031-void-open-loops.md), and no change below 20,000 requests a second.
constexpr nanos gather_for = 50'000;

// How long the loop sleeps as others do, after a task took the core from it while it spun.
constexpr nanos give_way_for = 20'000'000;

spinning spinning_for(const plan& p) {
    switch (p.asked.open_loop->spin) {
    case spin_mode::always: return spinning::always;
    case spin_mode::never: return spinning::never;
    case spin_mode::automatic: break;
    }
    // On CPUs that were given to the threads, one each, nobody else has a claim; but what spinning
    // takes of a quota is gone for the requests. On others only while no other task wants them, and
    // one is left to the server.
    if (!p.asked.cpus.empty()) {
        const auto quota = p.quota.cpus();
        const bool within = !quota || *quota >= p.asked.threads + 1;
        return within && p.asked.threads <= p.asked.cpus.size() ? spinning::always
                                                                : spinning::never;
    }
    return p.spare_cpus > 0 ? spinning::while_unwanted : spinning::never;
}

// A signal may end it early.
void sleep_until(nanos moment) {
    const timespec until{.tv_sec = moment / 1'000'000'000, .tv_nsec = moment % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

long times_pushed_off() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

}  // namespace

pacer::pacer(connection_host& host, open_loop_gate& gate)
    : host_(host),
      gate_(gate),
      spins_(spinning_for(host.the_plan())),
      // What is sent with io_uring leaves when the loop waits.
      gathers_(spins_ == spinning::never && host.the_plan().engine == wire::loop_engine::epoll),
      due_timer_(wire::timer::calling<&pacer::on_due>(this)) {}

void pacer::begin(const load_order& order) {
    spinning_since_ = 0;
    pushed_off_ = times_pushed_off();
    gate_.begin(order);
}

connection* pacer::take_free() {
    while (connection* const c = gate_.next_in_line()) {
        if (c->taken_from_line()) return c;
    }
    return nullptr;
}

void pacer::pump() {
    if (!gate_.running()) return;
    nanos now = clock_now();
    load_window& window = host_.window();
    window.advance(now);
    if (!gate_.running()) return;
    if (spinning_since_ != 0 && window.work_done() == work_then_) {
        gate_.note_spinning(spinning_since_, now);
        notice_others(now);
    }
    gate_.skip_expired(now);
    send_due(now);
    if (!gate_.running()) return;  // the clock went on meanwhile, past the load's end
    gate_.note_backlog(now);
    const due_schedule& schedule = gate_.schedule();
    if (schedule.due() == never && window.in_flight() == 0 &&
        (schedule.end() == never || now >= schedule.end() || schedule.counted_out())) {
        window.end(clock_now());
        return;
    }
    arm(now);
}

void pacer::send_due(nanos& now) {
    for (int sent = 0;
         gate_.schedule().due() <= now && sent < sends_per_iteration && gate_.may_send_more();
         ++sent) {
        connection* const c = take_free();
        if (c == nullptr) break;
        gate_.grant();
        c->send_granted();
        gate_.close_gate();
        now = clock_now();
        c->offer(now);
        last_sent_ = now;
    }
}

void pacer::arm(nanos now) {
    spinning_since_ = 0;
    wire::event_loop& loop = host_.loop();
    const nanos due = gate_.schedule().due();
    const nanos end = gate_.schedule().end();
    if (due == never) {
        if (end != never && now < end) loop.arm(due_timer_, to_time_point(end));
        return;
    }
    // Otherwise the next event, a reply, finds us.
    if (gate_.line_is_empty() || !gate_.may_send_more()) return;
    if (gathers_ && due > now && due < last_sent_ + gather_for) {
        sleep_until(last_sent_ + gather_for);
        loop.arm(due_timer_, to_time_point(due));  // the next iteration does not wait
        return;
    }
    const bool spin = spins_ != spinning::never && now >= spin_again_at_;
    if (due - now > (spin ? spin_before : 0)) {
        loop.arm(due_timer_, to_time_point(spin ? due - spin_before : due));
        return;
    }
    loop.arm(due_timer_, to_time_point(now + 1));  // the next iteration does not wait
    if (due <= now) return;
    spinning_since_ = now;
    work_then_ = host_.window().work_done();
}

// A task that runs where this thread spun was ready to run, and may have waited for it. Tasks that
// find another core idle go there, so on a machine with a free core this is rare.
void pacer::notice_others(nanos now) {
    if (spins_ != spinning::while_unwanted || now - spinning_since_ < interrupted_look) return;
    const long pushed_off = times_pushed_off();
    if (pushed_off != pushed_off_) spin_again_at_ = now + give_way_for;
    pushed_off_ = pushed_off;
}

void pacer::on_due() { host_.at_iteration_end(); }

void pacer::end(bool settle) {
    if (!gate_.running()) return;
    gate_.stop();
    host_.loop().disarm(due_timer_);
    if (!settle) {
        gate_.note_left(clock_now());
        return;
    }
    gate_.note_backlog(gate_.schedule().end());
    while (gate_.schedule().due() != never) gate_.drop_due();
}

}  // namespace wireload
