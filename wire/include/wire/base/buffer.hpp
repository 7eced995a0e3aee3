// Bytes between a socket and a parser: a queue that grows at the end and shrinks at the front.
//
//     wire::buffer in;
//     const std::span<char> space = in.prepare(4096);             // room to write into
//     in.commit(receive(socket, space));                          // of which this much was used
//     in.consume(parser.parse(in.view(), head).consumed);         // taken off the front
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/export.hpp"

namespace wire {

// A growable run of bytes, appended at the end and consumed at the front. Not thread-safe.
//
// Pointers, views and spans into a buffer die at the next call that is not const. An empty buffer
// may own no storage at all: 24 bytes is then its whole cost. Consuming bytes never gives storage
// back, release() does.
class WIRE_EXPORT buffer {
public:
    buffer() noexcept = default;
    // The buffer that was moved from is empty, without storage.
    buffer(buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          begin_(std::exchange(other.begin_, 0)),
          end_(std::exchange(other.end_, 0)) {}
    buffer& operator=(buffer&& other) noexcept {
        buffer moved(static_cast<buffer&&>(other));
        swap(moved);
        return *this;
    }
    buffer(const buffer&) = delete;
    buffer& operator=(const buffer&) = delete;
    ~buffer() {
        if (data_ != nullptr) release();
    }

    // Bytes that wait to be consumed.
    std::size_t size() const noexcept { return end_ - begin_; }
    bool empty() const noexcept { return begin_ == end_; }
    // Bytes of storage, also where size() is less; 0 without storage.
    std::size_t capacity() const noexcept { return data_ == nullptr ? 0 : head_of(data_)->room; }
    // The first byte, and all of them. The bytes may be changed in place.
    const char* data() const noexcept { return data_ + begin_; }
    char* data() noexcept { return data_ + begin_; }
    std::string_view view() const noexcept { return {data_ + begin_, size()}; }
    std::span<char> bytes() noexcept { return {data_ + begin_, size()}; }

    // Gives room for at least `n` bytes behind the last one; more where the storage has more. Bytes
    // written there become part of the buffer only by commit(). Throws std::bad_alloc.
    std::span<char> prepare(std::size_t n) {
        if (capacity() - end_ < n) make_room(n);
        return {data_ + end_, capacity() - end_};
    }
    // Adds the first `n` prepared bytes. Precondition: prepare() gave at least as many.
    void commit(std::size_t n) noexcept { end_ += n; }

    // Copies `text`, which must not lie in this buffer, behind the last byte. Throws as prepare().
    void append(std::string_view text) {
        if (text.empty()) return;
        if (capacity() - end_ < text.size()) make_room(text.size());
        std::memcpy(data_ + end_, text.data(), text.size());
        end_ += text.size();
    }
    void append(char c) {
        if (capacity() == end_) make_room(1);
        data_[end_++] = c;
    }
    // Appends the decimal digits of `value`.
    void append_number(std::uint64_t value);

    // Drops the first `n` bytes. Precondition: n <= size().
    void consume(std::size_t n) noexcept {
        begin_ += n;
        if (begin_ == end_) begin_ = end_ = 0;
    }
    // Drops bytes at the end so that `n` remain. Precondition: n <= size().
    void truncate(std::size_t n) noexcept { end_ = begin_ + n; }
    // Drops all bytes and keeps the storage.
    void clear() noexcept { begin_ = end_ = 0; }
    // Drops all bytes and frees the storage.
    void release() noexcept;

    // Exchanges bytes and storage; nothing is copied.
    void swap(buffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
    }

private:
    friend class buffer_pool;  // takes storage and gives it

    // What lies in front of storage; malloc() gave both.
    struct alignas(std::max_align_t) storage_head {
        std::size_t room;  // bytes of storage
    };
    static storage_head* head_of(char* data) noexcept {
        return static_cast<storage_head*>(static_cast<void*>(data)) - 1;
    }

    // Makes `n` bytes of room behind the last byte, in new storage if necessary.
    void make_room(std::size_t n);

    char* data_ = nullptr;  // the storage; null without
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

// Storage lent to buffers that are in use, so that an idle connection holds none. What came back
// last is lent first: the next borrower finds it warm in the cache. Not thread-safe: each loop has
// its own, event_loop::pool().
class WIRE_EXPORT buffer_pool {
public:
    // `block_bytes`, 256 or more, is the storage that one loan gives at least. No more bytes than
    // `max_kept` such blocks have are kept when they come back; the rest is freed.
    explicit buffer_pool(std::size_t block_bytes = 4096, std::size_t max_kept = 1024);
    ~buffer_pool();
    buffer_pool(const buffer_pool&) = delete;
    buffer_pool& operator=(const buffer_pool&) = delete;

    // Gives `b` storage if it has none. The buffer owns it from here on: it may grow beyond the
    // loan, and need not come back. Throws std::bad_alloc.
    void lend(buffer& b) {
        if (b.data_ != nullptr) return;
        if (blocks_.empty()) {
            b.prepare(block_bytes_);
            return;
        }
        b.data_ = blocks_.back();
        blocks_.pop_back();
        kept_bytes_ -= b.capacity();
    }
    // Takes the storage of `b` and drops its bytes. What grew beyond its loan is kept as it is,
    // so that who sends as much again need not grow again, unless it is a large part of all that
    // is kept. Storage of less than a loan is freed.
    void reclaim(buffer& b) noexcept {
        const std::size_t room = b.capacity();
        if (room < block_bytes_ || room > most_for_one_ || kept_bytes_ + room > most_bytes_) {
            if (b.data_ != nullptr) b.release();
            return;
        }
        blocks_.push_back(b.data_);
        kept_bytes_ += room;
        b.data_ = nullptr;
        b.begin_ = b.end_ = 0;
    }

    // Blocks that are here to be lent.
    std::size_t kept() const noexcept { return blocks_.size(); }
    std::size_t block_bytes() const noexcept { return block_bytes_; }

private:
    std::size_t block_bytes_;
    std::size_t most_bytes_;    // that are kept
    std::size_t most_for_one_;  // of them
    std::size_t kept_bytes_ = 0;
    std::vector<char*>
        blocks_;  // storage of buffers; its room is reserved: push_back() cannot throw
};

}  // namespace wire
