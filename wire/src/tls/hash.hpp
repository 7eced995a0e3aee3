// Hashes that protocols name, by OpenSSL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wire::tls::detail {

// From the weakest to the strongest.
enum class hash : std::uint8_t { md5, sha256 };

// The hash of `text` in hexadecimal, in small letters. nullopt where this wire was built without
// OpenSSL, or OpenSSL refuses the hash, as it does MD5 under FIPS. Any thread.
std::optional<std::string> hash_hex(hash which, std::string_view text);

}  // namespace wire::tls::detail
