// A WebSocket message and its frame.
#pragma once

#include <cstdint>
#include <string_view>

#include "plan/text_template.hpp"
#include "wire/base/buffer.hpp"
#include "wire/proto/ws_deflate.hpp"
#include "wire/proto/ws_frame.hpp"

namespace wireload {

// The extension that --deflate offers. Messages of every size are compressed: with a lower limit
// the server would not get the load that it is to be measured with.
inline constexpr wire::ws::deflate_options deflate_asked{.min_bytes = 1};

// The message that connections send. "{c}" stands for the counter, beside the values of every
// template.
class message_template {
public:
    message_template() = default;
    // Precondition: text_template::parse() takes `text`.
    message_template(std::string_view text, bool binary);

    wire::ws::opcode op() const { return op_; }
    const text_template& content() const { return content_; }

    // Appends the masked frame of a message from byte `offset` on, at most about `most` bytes.
    // Returns the offset reached, 0 when the frame is complete. The key must be the same for all
    // parts of one frame.
    std::size_t append_frame(wire::buffer& out, template_values v, wire::ws::mask_key key,
                             std::size_t offset, std::size_t most) const;

private:
    text_template content_;
    wire::ws::opcode op_ = wire::ws::opcode::text;
};

}  // namespace wireload
