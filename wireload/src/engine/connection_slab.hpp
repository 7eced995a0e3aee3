// The connections of a thread, one behind the other: none has a heap block's header, and no table
// of pointers is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "engine/connection.hpp"

namespace wireload {

class connection_slab {
public:
    connection_slab() = default;
    ~connection_slab() {
        while (size_ != 0) (*this)[--size_].~connection();
    }
    connection_slab(const connection_slab&) = delete;
    connection_slab& operator=(const connection_slab&) = delete;

    // Room for `most` of one kind; once. Pages are touched as connections are made.
    template <typename Connection> void reserve(std::uint32_t most) {
        // A connection begins with a cache line.
        static_assert(alignof(Connection) <= line);
        stride_ = sizeof(Connection);
        const std::size_t bytes = (most * stride_ + line - 1) / line * line;
        memory_.reset(static_cast<std::byte*>(std::aligned_alloc(line, bytes)));
        if (memory_ == nullptr) throw std::bad_alloc();
    }
    // Precondition: there is room, and it is for this kind.
    template <typename Connection, typename... Arguments> void add(Arguments&&... arguments) {
        ::new (memory_.get() + size_ * stride_) Connection(std::forward<Arguments>(arguments)...);
        ++size_;
    }

    std::uint32_t size() const { return size_; }
    // The base lies at the front: there is one, and it is the first.
    connection& operator[](std::size_t i) const {
        return *std::launder(reinterpret_cast<connection*>(memory_.get() + i * stride_));
    }

private:
    static constexpr std::size_t line = 64;
    struct released {
        void operator()(std::byte* memory) const noexcept { std::free(memory); }
    };
    std::unique_ptr<std::byte[], released> memory_;
    std::size_t stride_ = 0;
    std::uint32_t size_ = 0;
};

}  // namespace wireload
