// The engine of io_uring: readiness of sources by polls, and everything of streams by completions.
//
// A stream's socket lies in the ring's own table and is no descriptor of the process: how many
// there can be is bounded by the table of each ring, not by the files of the process. Its place
// there is its slot; -2 - slot stands where a stream would keep its descriptor.
//
// Operations are named by what they are, whose they are and a generation; what arrives for an
// earlier generation belongs to something that is gone. Bytes that the kernel reads while an
// operation is under way lie in a record of the engine's, so that streams may be destroyed at any
// time.
//
// uring_engine.cpp has the iteration and the sources, uring_streams.cpp the streams with the states
// of a slot. All belongs to the thread that first runs the loop; until then another may attach.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine.hpp"
#include "uring.hpp"
#include "wire/base/buffer.hpp"

namespace wire::detail {

class uring_engine final : public engine {
public:
    // Fails where the host forbids io_uring, and says what does.
    static result<std::unique_ptr<uring_engine>> create(event_loop& loop,
                                                        const loop_options& options);

    loop_engine name() const noexcept override { return loop_engine::io_uring; }
    std::size_t wait_and_dispatch(clock::duration longest, bool queued) override;
    void submit() noexcept override;
    bool wants_iteration() const noexcept override {
        return !ring_->started() || ring_->has_queued() || !early_.empty() || !resumed_.empty() ||
               ring_->has_work();
    }
    int descriptor() noexcept override;
    result<void> watch(io_source& source, int fd, ready interest) override;
    void rewatch(io_source& source, ready interest) noexcept override;
    void unwatch(io_source& source) noexcept override;

    result<void> attach(stream_core& s, unique_fd socket) override;
    result<void> connect(stream_core& s, const address& to,
                         const connect_options& options) override;
    void close(stream_core& s, bool reset) noexcept override;
    // Begins to send what is unsent, unless sending is under way.
    bool send(stream_core& s, int& number) noexcept override;
    bool read_rest(stream_core& s) noexcept override;
    bool send_lasting(stream_core& s, std::string_view bytes, int& number) noexcept override;
    // Sends `last` after all that is under way.
    void send_at_once(stream_core& s, buffer& last) noexcept override;
    std::size_t under_way(const stream_core& s) noexcept override;
    void update_interest(stream_core& s) noexcept override;
    bool quiet(const stream_core& s) noexcept override;

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

    struct watch_slot {
        io_source* source = nullptr;
        std::uint32_t generation = 0;
        bool armed = false;
    };
    struct slot {
        stream_core* owner;
        std::uint32_t generation;
        std::uint32_t link;  // of a stream: its record + 1; of a free slot: the next free one + 1
        bool noting;         // received bytes come with a note of when they did
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
        std::string_view lasting;  // not empty: instead of them, the user's
        std::uint32_t slot = 0;
        std::uint32_t generation = 0;
        bool slow = false;  // the socket was full: the kernel waits for room
        bool connect = false;

        std::string_view text() const noexcept { return lasting.empty() ? bytes.view() : lasting; }
        void consume(std::size_t n) noexcept {  // not all
            if (lasting.empty()) {
                bytes.consume(n);
            } else {
                lasting.remove_prefix(n);
            }
        }
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
    static std::uint32_t slot_of(const stream_core& s) noexcept;
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

    result<std::uint32_t> take_slot(stream_core& s, const unique_fd& socket);
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
    std::span<char> take_note(std::span<char> received) noexcept;
    void deliver(std::uint32_t index, std::uint32_t generation, std::span<char> bytes);
    bool on_received(std::uint32_t index, std::uint32_t generation, const uring::completion& c);
    bool on_sent(std::uint32_t number, int result, bool may_call);
    bool on_connected(std::uint32_t number, int result);
    bool on_hangup(std::uint32_t index, std::uint32_t generation, const uring::completion& c);

    bool begin_send(stream_core& s) noexcept;
    void send_failed(stream_core& s, int number) noexcept;
    void send_text(stream_core& s, std::uint32_t number) noexcept;

    std::size_t most_;  // completions served in one iteration
    std::unique_ptr<uring> ring_;
    std::vector<uring::completion> early_;  // taken out of the ring early, to make room
    std::size_t early_served_ = 0;          // of them, while they are being served
    std::vector<watch_slot> watched_;       // by descriptor
    unique_fd both_;                        // what descriptor() is, once asked for

    std::unique_ptr<slot[], released> slots_;  // untouched pages cost nothing
    std::uint32_t used_slots_ = 0;             // those beyond were never used
    std::uint32_t free_slot_ = 0;              // + 1
    std::vector<record> records_;
    std::vector<std::uint32_t> free_records_;
    std::unordered_map<std::uint32_t, withheld> withheld_;
    std::vector<std::uint32_t> resumed_;  // slots that have something withheld and read again
};

}  // namespace wire::detail
