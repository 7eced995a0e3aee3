#include "base/printable.hpp"

#include <fmt/format.h>

namespace wireload {
namespace {

std::string how_many(std::string_view bytes) {
    return fmt::format("... ({} bytes in all)", bytes.size());
}

}  // namespace

std::string printable(std::string_view bytes, std::size_t limit) {
    std::string out;
    for (const char c : bytes.substr(0, limit)) {
        switch (c) {
        case '\r': out += "\\r"; break;
        case '\n': out += "\\n"; break;
        case '\t': out += "\\t"; break;
        case '\\': out += "\\\\"; break;
        default:
            if (c >= ' ' && c <= '~') {
                out += c;
            } else {
                out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
            }
        }
    }
    if (bytes.size() > limit) out += how_many(bytes);
    return out;
}

std::string excerpt(std::string_view bytes) {
    constexpr std::size_t most = 384;
    std::string out(bytes.substr(0, most));
    if (bytes.size() > most) out += how_many(bytes);
    return out;
}

}  // namespace wireload
