// Growth of a buffer, and the pool that lends storage to buffers in use.
#include "wire/base/buffer.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <new>

namespace wire {

void buffer::release() noexcept {
    if (data_ != nullptr) std::free(head_of(data_));
    data_ = nullptr;
    begin_ = end_ = 0;
}

// Moves the bytes to the front if that frees enough and little has to move, else grows by doubling.
void buffer::make_room(std::size_t n) {
    const std::size_t used = size();
    const std::size_t room = capacity();
    // Half of the address space, which nobody has: sums below cannot overflow.
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / 2;
    if (n > most - used) throw std::bad_alloc();
    if (begin_ > 0 && used + n <= room && used <= room / 2) {
        std::memmove(data_, data_ + begin_, used);
        begin_ = 0;
        end_ = used;
        return;
    }
    const std::size_t wanted = std::max({used + n, room * 2, std::size_t{256}});
    void* const made = std::malloc(sizeof(storage_head) + wanted);
    if (made == nullptr) throw std::bad_alloc();
    auto* const head = ::new (made) storage_head{wanted};
    auto* const grown = static_cast<char*>(static_cast<void*>(head + 1));
    if (used > 0) std::memcpy(grown, data_ + begin_, used);
    release();
    data_ = grown;
    end_ = used;
}

void buffer::append_number(std::uint64_t value) {
    auto space = prepare(20);
    const auto end = std::to_chars(space.data(), space.data() + 20, value).ptr;
    commit(static_cast<std::size_t>(end - space.data()));
}

buffer_pool::buffer_pool(std::size_t block_bytes, std::size_t max_kept)
    : block_bytes_(block_bytes),
      most_bytes_(max_kept * block_bytes),
      most_for_one_(std::max(block_bytes, most_bytes_ / 16)) {
    blocks_.reserve(max_kept);
}

buffer_pool::~buffer_pool() {
    for (char* const block : blocks_) std::free(buffer::head_of(block));
}

}  // namespace wire
