// Growth of a buffer, and the pool that lends storage to buffers in use.
#include "wire/base/buffer.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <new>
#include <stdexcept>

namespace wire {

void buffer::release() noexcept {
    std::free(data_);
    data_ = nullptr;
    begin_ = end_ = capacity_ = 0;
}

// Moves the bytes to the front if that frees enough and little has to move, else grows by doubling.
void buffer::make_room(std::size_t n) {
    const std::size_t used = size();
    if (begin_ > 0 && used + n <= capacity_ && used <= capacity_ / 2) {
        std::memmove(data_, data_ + begin_, used);
        begin_ = 0;
        end_ = static_cast<std::uint32_t>(used);
        return;
    }
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    if (n > most - used) throw std::length_error("wire::buffer: beyond 4 GiB");
    const std::size_t wanted =
        std::min(most, std::max({used + n, std::size_t{capacity_} * 2, std::size_t{256}}));
    auto* grown = static_cast<char*>(std::malloc(wanted));
    if (grown == nullptr) throw std::bad_alloc();
    if (used > 0) std::memcpy(grown, data_ + begin_, used);
    std::free(data_);
    data_ = grown;
    begin_ = 0;
    end_ = static_cast<std::uint32_t>(used);
    capacity_ = static_cast<std::uint32_t>(wanted);
}

void buffer::append_number(std::uint64_t value) {
    auto space = prepare(20);
    const auto end = std::to_chars(space.data(), space.data() + 20, value).ptr;
    commit(static_cast<std::size_t>(end - space.data()));
}

buffer_pool::buffer_pool(std::size_t block_bytes, std::size_t max_kept)
    : block_bytes_(block_bytes), max_kept_(max_kept) {
    blocks_.reserve(max_kept);
}

buffer_pool::~buffer_pool() {
    for (char* const block : blocks_) std::free(block);
}

}  // namespace wire
