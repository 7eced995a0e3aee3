#include "plan/message.hpp"

#include <span>
#include <utility>
#include <variant>

namespace wireload {

message_template::message_template(std::string_view text, bool binary)
    : content_(std::get<text_template>(text_template::parse(text, true))),
      op_(binary ? wire::ws::opcode::binary : wire::ws::opcode::text) {}

std::size_t message_template::append_frame(wire::buffer& out, template_values v,
                                           wire::ws::mask_key key, std::size_t offset,
                                           std::size_t most) const {
    const std::size_t length = content_.size(v);
    if (offset == 0 && length <= most && content_.is_constant()) {
        wire::ws::append_frame(out, op_, content_.constant(), key);
        return 0;
    }
    // The offset counts payload bytes; the header always goes with the first of them.
    if (offset == 0) {
        const auto space = out.prepare(wire::ws::max_frame_header_bytes);
        out.commit(wire::ws::write_frame_header(space.first<wire::ws::max_frame_header_bytes>(),
                                                op_, length, true, key));
    }
    offset = content_.walk(
        v, offset, std::max<std::size_t>(most, 1), [&](std::string_view piece, std::size_t at) {
            wire::ws::copy_masked(out.prepare(piece.size()).data(), piece, key, at);
            out.commit(piece.size());
        });
    return offset == length ? 0 : offset;
}

}  // namespace wireload
