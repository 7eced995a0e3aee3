// What the TLS connections of a server have in common: its certificates, and whom it asks for
// theirs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/tls/connection.hpp"

namespace wire::tls {

enum class client_certificate : std::uint8_t {
    not_asked,
    optional,  // one that is shown must be good
    required,
};

struct certificate_files {
    std::string certificate;  // PEM: the server's own first, then the chain behind it
    std::string key;          // PEM, not encrypted
};

struct server_options {
    // At least one. A client that asks for a name (SNI, RFC 6066 section 3) gets the first that is
    // for it; without a name, or with one that none is for, it gets the first of all.
    std::vector<certificate_files> certificates;
    // PEM; the authorities that sign clients' certificates. Needed when those are asked for.
    std::string client_ca_file;
    client_certificate client = client_certificate::not_asked;
    // What is spoken here (ALPN), best first. A client that offers only others is refused (RFC 7301
    // section 3.2).
    std::vector<std::string> protocols = {"http/1.1"};
    version min_version = version::tls_1_2;
    version max_version = version::tls_1_3;
    // Let clients take up sessions again. The server keeps nothing for it: sessions travel in
    // tickets that only it can read.
    bool tickets = true;
};

// Any thread may use it.
class server_context {
public:
    // Reads the files; an error names the file and the reason.
    static result<std::shared_ptr<server_context>> create(const server_options& options);
    virtual ~server_context() = default;
    server_context(const server_context&) = delete;
    server_context& operator=(const server_context&) = delete;

    // For one accepted connection.
    virtual result<std::unique_ptr<connection>> accept() = 0;
    // Reads all files again, for connections to come; when that fails, the old ones go on. Tickets
    // stay good, except when clients show certificates: these are then checked anew.
    virtual result<void> reload() = 0;

protected:
    server_context() = default;
};

}  // namespace wire::tls
