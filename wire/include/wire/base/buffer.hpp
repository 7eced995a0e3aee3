// Bytes between a socket and a parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace wire {

class buffer_pool;

// A growable run of bytes, filled at the end and consumed at the front. An empty buffer may own no
// storage at all: 24 bytes is then its whole cost. Views into it die at the next non-const call.
class buffer {
public:
    buffer() noexcept = default;
    buffer(buffer&& other) noexcept { swap(other); }
    buffer& operator=(buffer&& other) noexcept {
        buffer moved(static_cast<buffer&&>(other));
        swap(moved);
        return *this;
    }
    buffer(const buffer&) = delete;
    buffer& operator=(const buffer&) = delete;
    ~buffer() { release(); }

    std::size_t size() const noexcept { return end_ - begin_; }
    bool empty() const noexcept { return begin_ == end_; }
    std::size_t capacity() const noexcept { return capacity_; }
    const char* data() const noexcept { return data_ + begin_; }
    char* data() noexcept { return data_ + begin_; }
    std::string_view view() const noexcept { return {data_ + begin_, size()}; }
    std::span<char> bytes() noexcept { return {data_ + begin_, size()}; }

    // At least `n` writable bytes after the end; more when they are there for free. Throws
    // std::bad_alloc, or std::length_error beyond 4 GiB.
    std::span<char> prepare(std::size_t n) {
        if (capacity_ - end_ < n) make_room(n);
        return {data_ + end_, capacity_ - end_};
    }
    // Adds the first `n` prepared bytes. Precondition: prepare() gave at least as many.
    void commit(std::size_t n) noexcept { end_ += static_cast<std::uint32_t>(n); }

    void append(std::string_view text) {
        if (text.empty()) return;
        if (capacity_ - end_ < text.size()) make_room(text.size());
        std::memcpy(data_ + end_, text.data(), text.size());
        end_ += static_cast<std::uint32_t>(text.size());
    }
    void append(char c) {
        if (capacity_ == end_) make_room(1);
        data_[end_++] = c;
    }
    void append_number(std::uint64_t value);  // decimal

    // Drops the first `n` bytes. Precondition: n <= size().
    void consume(std::size_t n) noexcept {
        begin_ += static_cast<std::uint32_t>(n);
        if (begin_ == end_) begin_ = end_ = 0;
    }
    // Drops bytes at the end so that `n` remain. Precondition: n <= size().
    void truncate(std::size_t n) noexcept { end_ = begin_ + static_cast<std::uint32_t>(n); }
    void clear() noexcept { begin_ = end_ = 0; }
    // Drops the bytes and the storage.
    void release() noexcept;

    void swap(buffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
        std::swap(capacity_, other.capacity_);
    }

private:
    friend class buffer_pool;
    void make_room(std::size_t n);

    char* data_ = nullptr;
    std::uint32_t begin_ = 0;
    std::uint32_t end_ = 0;
    std::uint32_t capacity_ = 0;
};

// Storage lent to buffers that are in use, so that an idle connection holds none. Last returned,
// first lent: the next borrower finds it warm in the cache. Not thread-safe: one for each loop.
class buffer_pool {
public:
    // `block_bytes`: what one loan gives. `max_kept`: blocks kept when they come back.
    explicit buffer_pool(std::size_t block_bytes = 4096, std::size_t max_kept = 1024);
    ~buffer_pool();
    buffer_pool(const buffer_pool&) = delete;
    buffer_pool& operator=(const buffer_pool&) = delete;

    // Gives `b` storage if it has none. It may outgrow the loan; that is its own affair.
    void lend(buffer& b);
    // Takes the storage of `b`, dropping its bytes; grown storage goes back to the heap.
    void reclaim(buffer& b) noexcept;

    std::size_t kept() const noexcept { return blocks_.size(); }
    std::size_t block_bytes() const noexcept { return block_bytes_; }

private:
    std::size_t block_bytes_;
    std::size_t max_kept_;
    std::vector<char*> blocks_;
};

}  // namespace wire
