// Is this UTF-8 (RFC 3629)? WebSocket text messages must be (RFC 6455 section 8.1), and so must
// JSON strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace wirebench::utf8 {

inline bool valid(std::string_view text) {
    const auto* at = reinterpret_cast<const unsigned char*>(text.data());
    const auto* const end = at + text.size();
    while (at != end) {
        while (end - at >= 8) {
            std::uint64_t eight;
            std::memcpy(&eight, at, sizeof eight);
            if ((eight & 0x8080808080808080u) != 0) break;
            at += 8;
        }
        if (at == end) break;
        const unsigned lead = *at++;
        if (lead < 0x80) continue;
        // Table 3-7 of the Unicode standard: how many bytes follow, and the range of the first of
        // them.
        int more = 0;
        unsigned low = 0x80;
        unsigned high = 0xbf;
        if (lead >= 0xc2 && lead <= 0xdf) more = 1;
        else if (lead >= 0xe0 && lead <= 0xef) more = 2;
        else if (lead >= 0xf0 && lead <= 0xf4) more = 3;
        else return false;
        if (lead == 0xe0) low = 0xa0;
        if (lead == 0xed) high = 0x9f;
        if (lead == 0xf0) low = 0x90;
        if (lead == 0xf4) high = 0x8f;
        for (; more > 0; --more) {
            if (at == end || *at < low || *at > high) return false;
            ++at;
            low = 0x80;
            high = 0xbf;
        }
    }
    return true;
}

}  // namespace wirebench::utf8
