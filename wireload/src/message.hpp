// What is sent: the bytes of a request, and a WebSocket message with its counter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "options.hpp"
#include "wire/base/buffer.hpp"
#include "wire/proto/url.hpp"
#include "wire/proto/ws_frame.hpp"

namespace wireload {

// The one HTTP request of a run, head and body.
std::string serialise_request(const options& asked, const wire::url& url);

// A message in which "{c}" stands for a counter.
class message_template {
public:
    message_template() = default;
    message_template(std::string_view text, bool binary);

    wire::ws::opcode op() const { return op_; }
    std::string text(std::uint64_t counter) const;
    bool equals(std::string_view received, std::uint64_t counter) const;

    // Appends the masked frame of message `counter` from byte `offset` on, at most about `most` bytes. Returns the
    // offset reached, 0 when the frame is complete. The key must be the same for all parts of one frame.
    std::size_t append_frame(wire::buffer& out, std::uint64_t counter, wire::ws::mask_key key, std::size_t offset,
                             std::size_t most) const;

private:
    std::string before_;
    std::string after_;
    bool counted_ = false;
    wire::ws::opcode op_ = wire::ws::opcode::text;
};

}  // namespace wireload
