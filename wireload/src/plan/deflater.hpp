// Messages compressed by permessage-deflate (RFC 7692), for all connections of a thread.
//
// Without context takeover in either direction no message refers to another, so that one compressor
// and one decompressor serve them all, and a message half written can be compressed again instead
// of being kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/plan.hpp"
#include "wire/base/buffer.hpp"
#include "wire/proto/ws_deflate.hpp"
#include "wire/proto/ws_frame.hpp"

namespace wireload {

class deflater {
public:
    // `p` must outlive it.
    explicit deflater(const plan& p) : plan_(p) {}

    // Appends the frame of message `counter` of a connection, as message_template::append_frame()
    // does, except that offset and `most` count bytes of the payload as it is sent. `agreed_bits`:
    // of the window that the server allows.
    std::size_t append_frame(wire::buffer& out, std::uint32_t connection, std::uint64_t counter,
                             int agreed_bits, wire::ws::mask_key key, std::size_t offset,
                             std::size_t most);
    // Whether the last message appended is compressed. One that would not become shorter is not.
    bool compressed() const { return compressed_; }

    wire::ws::deflate_pool& pool() { return pool_; }
    static wire::ws::deflate_agreement agreement(int agreed_bits) {
        return {.server = {.window_bits = 15, .context_takeover = false},
                .client = {.window_bits = static_cast<std::uint8_t>(agreed_bits),
                           .context_takeover = false}};
    }

private:
    void pack(std::uint32_t connection, std::uint64_t counter, int agreed_bits);

    const plan& plan_;
    wire::ws::deflate_pool pool_;
    // The message packed last, kept because the next is often the same, or the same one's next
    // part.
    wire::buffer frame_;  // unmasked
    std::size_t header_bytes_ = 0;
    bool compressed_ = false;
    int bits_ = 0;  // 0: none yet
    std::uint32_t connection_ = 0;
    std::uint64_t counter_ = 0;
};

}  // namespace wireload
