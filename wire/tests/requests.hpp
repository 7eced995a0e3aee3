// Requests as text, for raw_peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace wire::testing {

inline std::string get(const std::string& target, const std::string& fields = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}
inline std::string post(const std::string& target, const std::string& body,
                        const std::string& fields = "") {
    return "POST " + target + " HTTP/1.1\r\nHost: a\r\n" + fields +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
inline std::string post_chunked(const std::string& target, const std::vector<std::string>& chunks) {
    std::string out;
    out.append("POST " + target + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const auto& c : chunks) {
        char size[20];
        std::snprintf(size, sizeof size, "%zx\r\n", c.size());
        out.append(size);
        out.append(c);
        out.append("\r\n");
    }
    out.append("0\r\nTrailer: dropped\r\n\r\n");
    return out;
}
// n bytes in which a lost or repeated piece can be seen.
inline std::string patterned(std::size_t n) {
    std::string text(n, 'x');
    for (std::size_t i = 0; i < n; i += 61) text[i] = static_cast<char>('a' + i / 61 % 26);
    return text;
}
// n bytes that no compression makes smaller.
inline std::string noise(std::size_t n) {
    std::string out(n, '\0');
    std::uint32_t x = 1;
    for (char& c : out) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
    return out;
}

}  // namespace wire::testing
