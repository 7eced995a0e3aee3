// Reads secrets out of a key log's lines.
#include "traffic_secrets.hpp"

#include <openssl/crypto.h>

#include <algorithm>

#include "record_key.hpp"

namespace wire::tls::detail {

traffic_secret::~traffic_secret() { OPENSSL_cleanse(bytes.data(), bytes.size()); }

void traffic_secrets::take(std::string_view line) noexcept {
    traffic_secret* const to = line.starts_with("CLIENT_TRAFFIC_SECRET_0 ")   ? &client
                               : line.starts_with("SERVER_TRAFFIC_SECRET_0 ") ? &server
                                                                              : nullptr;
    if (to == nullptr) return;
    const std::string_view digits = line.substr(line.rfind(' ') + 1);
    if (digits.size() % 2 != 0 || digits.size() / 2 > to->bytes.size()) return;
    const auto value = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
    to->size = digits.size() / 2;
    for (std::size_t i = 0; i < to->size; ++i) {
        to->bytes[i] =
            static_cast<std::uint8_t>(value(digits[2 * i]) << 4 | value(digits[2 * i + 1]));
    }
}

record_sizes measure(std::string_view flight) noexcept {
    record_sizes out;
    const auto octet = [&](std::size_t i) {
        return static_cast<std::size_t>(static_cast<unsigned char>(flight[i]));
    };
    while (flight.size() >= record_header_bytes) {
        out.last_bytes = octet(3) << 8 | octet(4);
        flight.remove_prefix(std::min(flight.size(), record_header_bytes + out.last_bytes));
        ++out.records;
    }
    return out;
}

}  // namespace wire::tls::detail
