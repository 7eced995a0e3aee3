// Which cipher suites and groups a context offers or accepts.
#pragma once

#include <string>
#include <vector>

#include "openssl.hpp"

namespace wire::tls::detail {

// As client_options and server_options have them; an empty list stands for the default.
struct algorithms {
    version min_version;
    version max_version;
    const std::vector<std::string>& tls_1_2_ciphers;
    const std::vector<std::string>& tls_1_3_ciphers;
    const std::vector<std::string>& groups;
};

// The algorithms of either role's options. They must outlive the result.
template <typename Options> algorithms algorithms_of(const Options& o) noexcept {
    return {o.min_version, o.max_version, o.tls_1_2_ciphers, o.tls_1_3_ciphers, o.groups};
}

// Sets versions, cipher suites and groups of `ctx`. Errors: bad_argument, which names the option
// and the entry; tls_failed.
result<void> set_algorithms(SSL_CTX& ctx, const algorithms& a);

}  // namespace wire::tls::detail
