#include "base/printable.hpp"

#include <fmt/format.h>

namespace wireload {

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
    if (bytes.size() > limit) out += fmt::format("... ({} bytes in all)", bytes.size());
    return out;
}

}  // namespace wireload
