// Stands in for src/tls/hash.cpp where wire is built without OpenSSL.
#include "tls/hash.hpp"

namespace wire::tls::detail {

std::optional<std::string> hash_hex(hash, std::string_view) { return std::nullopt; }

}  // namespace wire::tls::detail
