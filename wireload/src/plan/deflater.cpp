#include "plan/deflater.hpp"

#include <algorithm>
#include <string_view>

namespace wireload {

void deflater::pack(std::uint32_t connection, std::uint64_t counter, int agreed_bits) {
    const text_template& content = plan_.message.content();
    if (bits_ == agreed_bits &&
        (content.is_constant() || (connection_ == connection && counter_ == counter)))
        return;
    frame_.clear();
    wire::ws::permessage_deflate one(wire::ws::role::client, agreement(agreed_bits), deflate_asked,
                                     pool_, plan_.limits);
    one.append_message(frame_, plan_.message.op(),
                       content.text(plan_.values_of(connection, counter)));
    const auto head = wire::ws::read_frame_header(frame_.view(), wire::ws::role::client, true);
    header_bytes_ = head.size;
    compressed_ = head.header.reserved != 0;
    bits_ = agreed_bits;
    connection_ = connection;
    counter_ = counter;
}

std::size_t deflater::append_frame(wire::buffer& out, std::uint32_t connection,
                                   std::uint64_t counter, int agreed_bits, wire::ws::mask_key key,
                                   std::size_t offset, std::size_t most) {
    pack(connection, counter, agreed_bits);
    const std::string_view payload = frame_.view().substr(header_bytes_);
    if (offset == 0) {
        const auto space = out.prepare(wire::ws::max_frame_header_bytes);
        out.commit(wire::ws::write_frame_header(space.first<wire::ws::max_frame_header_bytes>(),
                                                plan_.message.op(), payload.size(), true, key,
                                                compressed_));
    }
    const std::string_view part = payload.substr(offset, std::max<std::size_t>(most, 1));
    wire::ws::copy_masked(out.prepare(part.size()).data(), part, key, offset);
    out.commit(part.size());
    offset += part.size();
    return offset == payload.size() ? 0 : offset;
}

}  // namespace wireload
