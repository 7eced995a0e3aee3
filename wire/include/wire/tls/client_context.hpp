// What the TLS connections of a client have in common: whom to trust, who we are, sessions to take
// up again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/tls/connection.hpp"

namespace wire::tls {

struct client_options {
    // PEM; the authorities to trust instead of the system's. A certificate in it is trusted as it
    // is, whoever signed it.
    std::string ca_file;
    // Accept every certificate. For tests against servers with none that could be checked; never
    // for data that matter.
    bool insecure = false;
    // PEM; what to show a server that asks who we are: the certificate with the chain behind it,
    // and its key.
    std::string certificate_file;
    std::string key_file;
    // The name to ask the server for and to find in its certificate, instead of the one that is
    // connected to.
    std::string server_name;
    // Protocols to offer by ALPN (RFC 7301), best first; none: no offer.
    std::vector<std::string> protocols = {"http/1.1"};
    version min_version = version::tls_1_2;
    version max_version = version::tls_1_3;

    // Take up earlier sessions with the same server again (RFC 8446 section 2.2, RFC 5077): a
    // shorter handshake.
    bool resume = true;
    // A TLS 1.3 ticket serves once, so that nobody who watches can tell that two connections are of
    // one client (RFC 8446 section C.4). Without it the newest serves for all.
    bool single_use_tickets = true;
    // Servers whose sessions are kept, and the most kept for each.
    std::size_t max_servers = 256;
    std::size_t max_sessions_per_server = 4;
};

// Any thread may use it.
class client_context {
public:
    // Reads the files; an error names the file and the reason.
    static result<std::shared_ptr<client_context>> create(const client_options& options = {});
    virtual ~client_context() = default;
    client_context(const client_context&) = delete;
    client_context& operator=(const client_context&) = delete;

    // For one connection to `host`, a name or a literal address. Fails when `host` cannot be the
    // name of a server.
    virtual result<std::unique_ptr<connection>> connect(std::string_view host,
                                                        std::uint16_t port) = 0;

protected:
    client_context() = default;
};

}  // namespace wire::tls
