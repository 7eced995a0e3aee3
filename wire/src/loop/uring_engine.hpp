// What an event loop is when io_uring serves it: readiness of sources by polls, and everything of
// streams by completions.
//
// A stream's socket lies in the ring's own table and is no descriptor of the process: how many
// there can be is bounded by the table of each ring, not by the files of the process. Its place
// there is its slot; -2 - slot stands where a stream would keep its descriptor.
//
// Operations are named by what they are, whose they are and a generation; what arrives for an
// earlier generation belongs to something that is gone. Bytes that the kernel reads while an
// operation is under way lie in a record of the engine's, so that streams may be destroyed at any
// time.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "uring.hpp"
#include "wire/base/buffer.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/loop/socket.hpp"

namespace wire {
class stream;
}

namespace wire::detail {

class uring_engine {
public:
    static result<std::unique_ptr<uring_engine>> create(event_loop& loop,
                                                        const loop_options& options);

    // ---- for the loop ----

    // Waits, takes and serves; how many completions were of interest to anybody outside.
    std::size_t turn(clock::duration longest);
    // Hands the kernel what is queued. A running loop does so when it next waits.
    void submit() noexcept;
    int descriptor() noexcept { return ring_->descriptor(); }
    // There is something to do that the kernel will not announce: what it was not yet handed, or
    // what a turn has left.
    bool wants_iteration() const noexcept {
        return !ring_->started() || ring_->has_queued() || !early_.empty() || !resumed_.empty() ||
               ring_->has_work();
    }

    result<void> watch(io_source& source, int fd, ready interest);
    void rewatch(io_source& source, ready interest) noexcept;
    void unwatch(io_source& source) noexcept;

    // ---- for streams ----

    result<void> attach(stream& s, unique_fd socket);
    result<void> connect(stream& s, unique_fd socket, const address& to);
    // The stream is about to forget its loop.
    void close(stream& s, bool reset) noexcept;
    // Begins to send what is unsent, unless sending is under way. False when the filter failed.
    bool send(stream& s) noexcept;
    // Sends `last` after all that is under way, if it goes at once; for a stream that is about to
    // close.
    void send_last(stream& s, buffer& last) noexcept;
    // Whoever asks is told by on_drained() when it has gone: a stream that nobody asks about is
    // spared the call.
    std::size_t under_way(const stream& s) noexcept;
    // The stream's wish to read has changed.
    void update_reading(stream& s) noexcept;
    // Whether nothing has come for it that it was not given.
    bool quiet(const stream& s) noexcept;

private:
    enum class kind : std::uint8_t {
        ignored,
        watch,
        receive,
        send,
        connect,
        hangup,
        shut_down,
        closed
    };

    struct watched {
        io_source* source = nullptr;
        std::uint32_t generation = 0;
        bool armed = false;
    };
    struct slot {
        stream* owner;
        std::uint32_t generation;
        std::uint32_t link;  // of a stream: its record + 1; of a free slot: the next free one + 1
        bool receiving;      // a receive is under way, perhaps being cancelled
        bool cancelling;     // that one
        bool hangup;         // somebody looks out for the end while the stream does not read
        bool tell;           // on_drained() is owed
        bool shutting_down;  // the kernel does that on a thread of its own, which finds the socket
                             // by its slot
        bool leaving;        // to be closed when that is done
    };
    struct record {
        wire::buffer bytes;
        std::uint32_t slot = 0;
        std::uint32_t generation = 0;
        bool slow = false;  // the socket was full: the kernel waits for room
        bool connect = false;
    };
    // What came while a stream did not read.
    struct withheld {
        wire::buffer bytes;
        bool end = false;
    };
    struct released {
        void operator()(slot* s) const noexcept { std::free(s); }
    };

    uring_engine(event_loop& loop, std::size_t most, std::unique_ptr<uring> ring);

    static std::uint64_t tag(kind k, std::uint32_t index, std::uint32_t generation) noexcept {
        return std::uint64_t{generation} << 32 | std::uint64_t{index} << 8 |
               static_cast<std::uint64_t>(k);
    }
    static std::uint32_t slot_of(const stream& s) noexcept;
    bool is_current(std::uint32_t index, std::uint32_t generation) const noexcept {
        return slots_[index].generation == generation;
    }

    void queue(const io_uring_sqe& operation);
    void make_room() noexcept;
    void reclaim_slots() noexcept;
    void cancel(std::uint64_t target) noexcept;
    bool dispatch(const uring::completion& c);

    void arm(int fd);
    bool on_watched(std::uint32_t fd, std::uint32_t generation, int result);

    result<std::uint32_t> take_slot(stream& s, const unique_fd& socket);
    std::uint32_t take_record(std::uint32_t index);
    void drop_record(std::uint32_t number) noexcept;
    void send_record(std::uint32_t number) noexcept;
    void receive(std::uint32_t index) noexcept;
    void shut_down(std::uint32_t index) noexcept;
    void free_socket(std::uint32_t index) noexcept;
    void withhold(std::uint32_t index, std::span<const char> bytes, bool end);
    bool has_withheld(std::uint32_t index) const noexcept {
        return !withheld_.empty() && withheld_.contains(index);
    }
    bool serve_withheld();
    void deliver(std::uint32_t index, std::uint32_t generation, std::span<char> bytes);
    bool on_received(std::uint32_t index, std::uint32_t generation, const uring::completion& c);
    bool on_sent(std::uint32_t number, int result, bool may_call);
    bool on_connected(std::uint32_t number, int result);
    bool on_hangup(std::uint32_t index, std::uint32_t generation, const uring::completion& c);

    event_loop& loop_;
    std::size_t most_;  // completions served in one turn
    std::unique_ptr<uring> ring_;
    std::vector<uring::completion> early_;  // taken out of the ring before their turn, to make room
    std::vector<watched> watched_;          // by descriptor

    std::unique_ptr<slot[], released> slots_;  // untouched pages cost nothing
    std::uint32_t used_slots_ = 0;             // those beyond were never used
    std::uint32_t free_slot_ = 0;              // + 1
    std::vector<record> records_;
    std::vector<std::uint32_t> free_records_;
    std::unordered_map<std::uint32_t, withheld> withheld_;
    std::vector<std::uint32_t> resumed_;  // slots that have something withheld and read again
};

}  // namespace wire::detail
