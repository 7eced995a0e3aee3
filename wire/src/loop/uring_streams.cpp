// The streams of a uring_engine: each has a slot of the ring's table, with these operations.
//
//     slot            owner     under way
//     free            null      nothing
//     connecting      stream    connect (a record holds the address)
//     receiving       stream    one multishot receive (receiving); perhaps a send
//     paused          stream    the receive is cancelled (cancelling); a poll for the end (hangup)
//     shutting down   any       shutdown (shutting_down), which finds the socket by its slot
//     leaving         null      the same: closed when that is done (leaving)
//     closing         null      close; free when it completes
//
// Each owner of a slot has its own generation: close() counts it up, and what still completes for
// an earlier one is dropped.
//
//     a send is          by                       next
//     first try          begin_send()             done; or, when the socket is full, slow
//     slow               EAGAIN, a part sent      the kernel waits for room; on_drained() when done
//
// While a stream does not read, what came already is withheld by slot, and given when it reads
// again, from the next iteration (resumed_). A filter holds bytes back by itself: then only the end
// is withheld.
//
//     owner of            is
//     a socket            the ring's table, by its slot
//     bytes being sent    a record, from begin_send() to the completion; lasting ones the user
//     a receive buffer    the kernel; the engine while on_received() runs
//     withheld bytes      the engine
//
// All on the loop's thread.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "socket_parts.hpp"
#include "uring_engine.hpp"
#include "wire/loop/stream.hpp"

namespace wire::detail {

namespace {

io_uring_sqe on_file(io_uring_op what, std::uint32_t index, std::uint64_t user_data) noexcept {
    io_uring_sqe e{};
    e.opcode = static_cast<std::uint8_t>(what);
    e.flags = IOSQE_FIXED_FILE;
    e.fd = static_cast<int>(index);
    e.user_data = user_data;
    return e;
}

}  // namespace

std::uint32_t uring_engine::slot_of(const stream_core& s) noexcept {
    return static_cast<std::uint32_t>(-2 - s.fd_);
}

// ---- beginning and end ----

result<std::uint32_t> uring_engine::take_slot(stream_core& s, const unique_fd& socket) {
    if (free_slot_ == 0 && used_slots_ == ring_->file_slots()) reclaim_slots();
    const bool fresh = free_slot_ == 0;
    if (fresh && used_slots_ == ring_->file_slots()) {
        return system_failure(
            EMFILE, "io_uring's table of files is full; more loops hold more (or raise ulimit -n)");
    }
    const std::uint32_t index = fresh ? used_slots_ : free_slot_ - 1;
    if (auto r = ring_->install(index, socket.get()); !r) return r.error();
    slot& t = slots_[index];
    if (fresh) {
        ++used_slots_;
    } else {
        free_slot_ = t.link;
    }
    t.owner = &s;
    t.link = 0;
    t.noting = t.receiving = t.cancelling = t.hangup = t.tell = t.shutting_down = t.leaving = false;
    s.loop_ = &loop_;
    s.fd_ = -2 - static_cast<int>(index);
    return index;
}

result<void> uring_engine::attach(stream_core& s, unique_fd socket) {
    const auto index = take_slot(s, socket);
    if (!index) return index.error();
    receive(*index);
    return {};
}

[[gnu::cold]] result<void> uring_engine::connect(stream_core& s, const address& to,
                                                 const connect_options& options) {
    auto socket = open_tcp(to, options);
    if (!socket) return socket.error();
    const auto index = take_slot(s, *socket);
    if (!index) return index.error();
    const std::uint32_t number = take_record(*index);
    slots_[*index].noting = options.note_arrivals;
    slots_[*index].link = number + 1;
    record& r = records_[number];
    r.connect = true;
    core_.pool().lend(r.bytes);
    r.bytes.append({reinterpret_cast<const char*>(to.raw()), to.size()});
    auto e = on_file(IORING_OP_CONNECT, *index, tag(kind::connect, number, 0));
    e.addr = reinterpret_cast<std::uint64_t>(r.bytes.data());
    e.off = to.size();
    queue(e);
    return {};
}

void uring_engine::close(stream_core& s, bool reset) noexcept {
    const std::uint32_t index = slot_of(s);
    slot& t = slots_[index];
    if (reset) {
        // Connecting to no address at all is how a socket is disconnected: the peer sees RST, and
        // no TIME_WAIT remains.
        static const sockaddr nowhere{.sa_family = AF_UNSPEC, .sa_data = {}};
        auto e = on_file(IORING_OP_CONNECT, index, tag(kind::ignored, 0, 0));
        e.addr = reinterpret_cast<std::uint64_t>(&nowhere);
        e.off = sizeof nowhere;
        e.flags |= IOSQE_CQE_SKIP_SUCCESS;
        queue(e);
    }
    // Whatever is under way holds the socket open.
    if (t.receiving && !t.cancelling) cancel(tag(kind::receive, index, t.generation));
    if (t.hangup) cancel(tag(kind::hangup, index, t.generation));
    if (t.link != 0) {
        const std::uint32_t number = t.link - 1;
        const bool connecting = records_[number].connect;
        if (connecting || records_[number].slow)
            cancel(tag(connecting ? kind::connect : kind::send, number, 0));
    }
    ++t.generation;
    t.owner = nullptr;
    if (!withheld_.empty()) withheld_.erase(index);
    if (t.shutting_down) {
        t.leaving = true;
    } else {
        free_socket(index);
    }
    s.loop_ = nullptr;
    s.fd_ = -1;
    if (!core_.in_iteration()) submit();
}

void uring_engine::free_socket(std::uint32_t index) noexcept {
    io_uring_sqe e{};
    e.opcode = IORING_OP_CLOSE;
    e.file_index = index + 1;
    e.user_data = tag(kind::closed, index, 0);
    queue(e);
}

bool uring_engine::on_connected(std::uint32_t number, int result) {
    const std::uint32_t index = records_[number].slot;
    const bool current = is_current(index, records_[number].generation);
    drop_record(number);
    if (!current) return false;
    slots_[index].link = 0;
    stream_core& s = *slots_[index].owner;
    if (result == 0) receive(index);
    s.connected(-result);
    return true;
}

// ---- sending ----

std::uint32_t uring_engine::take_record(std::uint32_t index) {
    if (free_records_.empty()) {
        free_records_.reserve(records_.size() + 1);  // so that drop_record() cannot throw
        records_.emplace_back();
        free_records_.push_back(static_cast<std::uint32_t>(records_.size() - 1));
    }
    const std::uint32_t number = free_records_.back();
    free_records_.pop_back();
    records_[number].slot = index;
    records_[number].generation = slots_[index].generation;
    records_[number].slow = records_[number].connect = false;
    return number;
}

void uring_engine::drop_record(std::uint32_t number) noexcept {
    core_.pool().reclaim(records_[number].bytes);
    records_[number].lasting = {};
    free_records_.push_back(number);
}

void uring_engine::send_record(std::uint32_t number) noexcept {
    const record& r = records_[number];
    auto e = on_file(IORING_OP_SEND, r.slot, tag(kind::send, number, 0));
    const std::string_view text = r.text();
    e.addr = reinterpret_cast<std::uint64_t>(text.data());
    // What is longer goes in several sends, as the kernel itself would have it.
    e.len = static_cast<std::uint32_t>(std::min(text.size(), std::size_t{1} << 30));
    // At first only what the socket takes at once, so that its being full is known in the same
    // iteration.
    e.msg_flags = MSG_NOSIGNAL | (r.slow ? 0U : std::uint32_t{MSG_DONTWAIT});
    queue(e);
}

bool uring_engine::send(stream_core& s, int&) noexcept { return begin_send(s); }

bool uring_engine::begin_send(stream_core& s) noexcept {
    const std::uint32_t index = slot_of(s);
    if (s.sending_) return true;
    if (s.filter_ != nullptr && !s.encode_some()) return false;
    buffer& raw = s.raw_out();
    if (s.out_.empty()) core_.pool().reclaim(s.out_);
    if (raw.empty()) {
        core_.pool().reclaim(raw);
        if (s.shutdown_wanted_ && s.state_ == stream_core::state::open) {
            s.shutdown_wanted_ = false;
            shut_down(index);
        }
        return true;
    }
    if (s.state_ == stream_core::state::open) s.before_send();
    const std::uint32_t number = take_record(index);
    records_[number].bytes.swap(raw);
    send_text(s, number);
    return true;
}

bool uring_engine::send_lasting(stream_core& s, std::string_view bytes, int&) noexcept {
    s.before_send();
    const std::uint32_t number = take_record(slot_of(s));
    records_[number].lasting = bytes;
    send_text(s, number);
    return true;
}

// The record's, as what the stream is sending.
void uring_engine::send_text(stream_core& s, std::uint32_t number) noexcept {
    slots_[records_[number].slot].link = number + 1;
    s.sending_ = true;
    send_record(number);
    if (!core_.in_iteration()) submit();
}

void uring_engine::send_at_once(stream_core& s, buffer& last) noexcept {
    const std::uint32_t number = take_record(slot_of(s));
    records_[number].bytes.swap(last);
    send_record(number);
}

std::size_t uring_engine::under_way(const stream_core& s) noexcept {
    slot& t = slots_[slot_of(s)];
    t.tell = true;
    return records_[t.link - 1].text().size();
}

// Without `may_call` only what concerns nobody else is done; false when there is more to it.
bool uring_engine::on_sent(std::uint32_t number, int result, bool may_call) {
    record& r = records_[number];
    const std::uint32_t index = r.slot;
    const bool whole = result >= 0 && static_cast<std::size_t>(result) == r.text().size();
    if (!is_current(index, r.generation)) {
        drop_record(number);
        return !may_call;
    }
    slot& t = slots_[index];
    stream_core& s = *t.owner;
    const bool more = !s.out_.empty() || !s.raw_out().empty() || s.shutdown_wanted_;
    if (!may_call && (!whole || t.tell || s.waiting_to_write_ || more)) return false;
    if (result > 0) s.note_taken(static_cast<std::size_t>(result));
    if (!whole) {
        if (result < 0 && result != -EAGAIN && result != -EINTR && result != -ECANCELED) {
            drop_record(number);
            t.link = 0;
            send_failed(s, -result);
            return true;
        }
        if (result > 0) r.consume(static_cast<std::size_t>(result));
        r.slow = s.waiting_to_write_ = true;
        if (s.state_ == stream_core::state::open) s.before_send();
        send_record(number);
        return false;
    }
    drop_record(number);
    t.link = 0;
    s.sending_ = false;
    const bool tell = t.tell || s.waiting_to_write_;
    t.tell = false;
    if (more && !begin_send(s)) {
        s.fail(0, "send");
        return true;
    }
    s.waiting_to_write_ = false;  // until here: before_send() may ask whether bytes have waited
    if (!tell || s.state_ != stream_core::state::open) return !may_call;
    if (s.sending_) {
        t.tell = true;
        return false;
    }
    s.on_drained();
    return true;
}

// A peer that is gone may have said why: that came earlier, and its completion may come later. The
// stream fails at the end of the iteration, unless there is more to read.
[[gnu::cold]] void uring_engine::send_failed(stream_core& s, int number) noexcept {
    s.sending_ = false;
    s.failed_errno_ = number;
    loop_.at_iteration_end(s);
}

[[gnu::cold]] bool uring_engine::read_rest(stream_core& s) noexcept {
    if (s.state_ != stream_core::state::open || !s.wants_to_read()) return false;
    const std::uint32_t index = slot_of(s);
    const std::uint64_t wanted = tag(kind::receive, index, slots_[index].generation);
    ring_->work_off();
    make_room();
    const auto found = std::find_if(early_.begin(), early_.end(),
                                    [wanted](const auto& c) { return c.user_data == wanted; });
    if (found == early_.end()) return false;
    const auto c = *found;
    early_.erase(found);
    return dispatch(c);
}

void uring_engine::shut_down(std::uint32_t index) noexcept {
    slots_[index].shutting_down = true;
    auto e = on_file(IORING_OP_SHUTDOWN, index, tag(kind::shut_down, index, 0));
    e.len = SHUT_WR;
    queue(e);
    if (!core_.in_iteration()) submit();
}

// ---- receiving ----

void uring_engine::receive(std::uint32_t index) noexcept {
    slot& t = slots_[index];
    t.receiving = true;
    auto e = on_file(t.noting ? IORING_OP_RECVMSG : IORING_OP_RECV, index,
                     tag(kind::receive, index, t.generation));
    if (t.noting) {
        // What each receive has room for: no address, and one note before the bytes.
        static const msghdr room{.msg_name = nullptr,
                                 .msg_namelen = 0,
                                 .msg_iov = nullptr,
                                 .msg_iovlen = 0,
                                 .msg_control = nullptr,
                                 .msg_controllen = arrival_note_bytes,
                                 .msg_flags = 0};
        e.addr = reinterpret_cast<std::uint64_t>(&room);
        e.len = 1;
    }
    e.ioprio = IORING_RECV_MULTISHOT;
    e.flags |= IOSQE_BUFFER_SELECT;
    e.buf_group = uring::buffer_group;
    queue(e);
}

void uring_engine::update_interest(stream_core& s) noexcept {
    const std::uint32_t index = slot_of(s);
    slot& t = slots_[index];
    if (s.reading_ && has_withheld(index)) resumed_.push_back(index);
    if (s.wants_to_read()) {
        // One that is being cancelled is renewed when its end is reported.
        if (!t.receiving) receive(index);
        return;
    }
    if (t.receiving && !t.cancelling) {
        t.cancelling = true;
        cancel(tag(kind::receive, index, t.generation));
    }
    if (t.hangup) return;
    t.hangup = true;
    auto e = on_file(IORING_OP_POLL_ADD, index, tag(kind::hangup, index, t.generation));
    e.poll32_events = POLLERR | POLLHUP;
    // The kernel adds POLLRDHUP, which is true for good once the peer has sent FIN: only changes
    // are of interest.
    e.len = IORING_POLL_ADD_MULTI;
    queue(e);
}

bool uring_engine::on_received(std::uint32_t index, std::uint32_t generation,
                               const uring::completion& c) {
    const bool has_buffer = (c.flags & IORING_CQE_F_BUFFER) != 0;
    const unsigned id = c.flags >> IORING_CQE_BUFFER_SHIFT;
    bool served = false;
    if (is_current(index, generation)) {
        slot& t = slots_[index];
        stream_core& s = *t.owner;
        if ((c.flags & IORING_CQE_F_MORE) == 0) t.receiving = t.cancelling = false;
        std::span<char> bytes;
        if (c.result > 0) bytes = ring_->buffer(id).first(static_cast<std::size_t>(c.result));
        if (c.result > 0 && t.noting) bytes = take_note(bytes);
        const bool end = c.result >= 0 && bytes.empty();
        served = true;
        if (s.ended_ && c.result >= 0) {
            served = false;  // a filter has said that this was the end
        } else if (end && s.failed_errno_ != 0) {
            served = false;  // no end: sending has told that the connection broke
        } else if (!bytes.empty()) {
            deliver(index, generation, bytes);
        } else if (end) {
            const bool reads = s.reading_ || s.state_ != stream_core::state::open;
            if (reads && !has_withheld(index) && !s.holds_back()) {
                s.peer_finished();
            } else {
                withhold(index, {}, true);
                if (s.reading_) resumed_.push_back(index);
            }
        } else if (c.result == -ENOBUFS || c.result == -ECANCELED || c.result == -EINTR ||
                   c.result == -EAGAIN) {
            served = false;
        } else {
            s.receive_failed(-c.result, has_withheld(index));
        }
        if (is_current(index, generation) && !t.receiving && s.wants_to_read() && !end)
            receive(index);
    }
    if (has_buffer) ring_->recycle(id);
    return served;
}

// Of what a receive with a note has put into a buffer: notes when the bytes came, and gives them.
std::span<char> uring_engine::take_note(std::span<char> received) noexcept {
    io_uring_recvmsg_out sizes;
    std::memcpy(&sizes, received.data(), sizeof sizes);
    const auto note = received.subspan(sizeof sizes, arrival_note_bytes);
    msghdr message{};
    message.msg_control = note.data();
    message.msg_controllen = sizes.controllen;
    core_.arrivals().note(arrival_stamp(message), core_.now());
    return received.subspan(sizeof sizes + note.size());
}

// May end with the stream closed or destroyed.
void uring_engine::deliver(std::uint32_t index, std::uint32_t generation, std::span<char> bytes) {
    stream_core& s = *slots_[index].owner;
    if (s.filter_ != nullptr) {
        s.take_raw(bytes);  // withholds in its own way
        return;
    }
    while (!bytes.empty()) {
        if (!s.reading_ || has_withheld(index)) {
            withhold(index, bytes, false);
            return;
        }
        const auto scratch = core_.scratch();
        const auto space = s.receive_space(scratch);
        if (space.data() == scratch.data()) {
            s.on_data(bytes);
            return;
        }
        const std::size_t n = std::min(space.size(), bytes.size());
        std::memcpy(space.data(), bytes.data(), n);
        bytes = bytes.subspan(n);
        s.on_data(space.first(n));
        if (!is_current(index, generation)) return;
    }
}

void uring_engine::withhold(std::uint32_t index, std::span<const char> bytes, bool end) {
    withheld& w = withheld_[index];
    w.bytes.append({bytes.data(), bytes.size()});
    w.end = w.end || end;
}

bool uring_engine::serve_withheld() {
    const auto resumed = std::move(resumed_);
    resumed_.clear();
    bool served = false;
    for (const std::uint32_t index : resumed) {
        const auto found = withheld_.find(index);
        if (found == withheld_.end() || slots_[index].owner == nullptr ||
            !slots_[index].owner->reading_)
            continue;
        withheld w = std::move(found->second);
        withheld_.erase(found);
        const std::uint32_t generation = slots_[index].generation;
        stream_core& s = *slots_[index].owner;
        if (slots_[index].noting) core_.arrivals().note(std::nullopt, core_.now());
        if (s.filter_ == nullptr || s.holds_back()) deliver(index, generation, w.bytes.bytes());
        served = true;
        // It broke meanwhile.
        if (is_current(index, generation) && s.broken_ && !has_withheld(index))
            loop_.at_iteration_end(s);
        // What a filter held back may have had its own end in it.
        if (!w.end || !is_current(index, generation) || s.ended_) continue;
        if (s.reading_) {
            s.peer_finished();
        } else {
            withhold(index, {}, true);
        }
    }
    return served;
}

bool uring_engine::on_hangup(std::uint32_t index, std::uint32_t generation,
                             const uring::completion& c) {
    if (!is_current(index, generation) || c.result == -ECANCELED) return false;
    if ((c.flags & IORING_CQE_F_MORE) == 0) slots_[index].hangup = false;
    stream_core& s = *slots_[index].owner;
    if (c.result > 0 && (c.result & (POLLERR | POLLHUP)) == 0) return false;
    if ((s.reading_ && !s.ended_) || s.broken_) return false;  // the receive reports it, or did
    if (c.result < 0 || (c.result & POLLERR) != 0) {
        s.receive_failed(ECONNRESET, has_withheld(index));
    } else if (s.ended_) {
        s.both_finished();
    } else if (std::exchange(slots_[index].hangup, false)) {
        // The peer's end is given when the user reads again, and then this is asked again.
        cancel(tag(kind::hangup, index, generation));
    }
    return true;
}

bool uring_engine::quiet(const stream_core& s) noexcept {
    const std::uint32_t index = slot_of(s);
    ring_->work_off();
    if (ring_->has_no_place()) return false;  // nobody knows
    const std::uint64_t wanted = tag(kind::receive, index, slots_[index].generation);
    for (std::size_t i = 0; i < ring_->ready(); ++i) {
        if (ring_->peek(i).user_data == wanted) return false;
    }
    return std::none_of(early_.begin() + static_cast<std::ptrdiff_t>(early_served_), early_.end(),
                        [wanted](const auto& c) { return c.user_data == wanted; }) &&
           !has_withheld(index);
}

}  // namespace wire::detail
