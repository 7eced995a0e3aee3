// Stands in for src/tls where wire is built without OpenSSL: everything but TLS works, and TLS says
// why it does not.
#include "wire/tls/client_context.hpp"
#include "wire/tls/server_context.hpp"

namespace wire::tls {

namespace {

error unavailable() {
    return {errc::tls_failed,
            "this wire was built without TLS; install OpenSSL 3 (Debian: libssl-dev) and build it "
            "with -D WIRE_WITH_TLS=ON"};
}

}  // namespace

result<std::shared_ptr<client_context>> client_context::create(const client_options&) {
    return unavailable();
}
result<std::shared_ptr<server_context>> server_context::create(const server_options&) {
    return unavailable();
}

}  // namespace wire::tls
