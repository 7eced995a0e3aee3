#include "output/print_request.hpp"

#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "plan/deflater.hpp"
#include "wire/base/buffer.hpp"
#include "wire/proto/utf8.hpp"
#include "wire/proto/ws_handshake.hpp"

namespace wireload {

std::string request_bytes(const plan& p) {
    std::string requests;
    for (const prepared_request& r : p.requests)
        requests += r.constant() ? r.bytes : r.pattern.text(p.values_of(0, 1));
    if (!p.asked.websocket) return requests;
    wire::buffer out;
    std::array<std::uint8_t, 16> random{};
    for (std::size_t i = 0; i < random.size(); ++i)
        random[i] = static_cast<std::uint8_t>(p.asked.seed >> (8 * (i % 8)));
    // Target, host and fields were checked when the command line was read.
    (void)wire::ws::write_upgrade_request(out, p.url.target, p.upgrade_authority(p.url),
                                          wire::ws::make_key(random), p.upgrade_fields);
    constexpr wire::ws::mask_key key = {0x12, 0x34, 0x56, 0x78};
    if (p.asked.deflate) {
        deflater(p).append_frame(out, 0, 1, 15, key, 0, SIZE_MAX);  // as to a server that agrees
    } else {
        p.message.append_frame(out, p.values_of(0, 1), key, 0, SIZE_MAX);
    }
    return std::string(out.view());
}

std::string for_terminal(std::string_view bytes) {
    const bool text = wire::is_utf8(bytes);
    std::string out;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        const bool harmless =
            c == '\n' || c == '\t' || (byte >= 0x20 && byte < 0x7f) || (text && byte >= 0x80);
        if (harmless) {
            out += c;
        } else if (c != '\r') {
            out += fmt::format("\\x{:02x}", byte);
        }
    }
    return out.empty() || out.back() == '\n' ? out : out + "\n";
}

}  // namespace wireload
