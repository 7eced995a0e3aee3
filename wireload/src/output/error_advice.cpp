#include "output/error_advice.hpp"

namespace wireload {

std::string_view advice_on(error_kind kind) {
    switch (kind) {
    case error_kind::connect_refused:
        return "nothing accepts there: is the server running, at this address and port?";
    case error_kind::connect_timeout:
        return "no answer to connecting: full accept queue (listen backlog), firewall";
    case error_kind::connect_failed:
        return "connection or WebSocket handshake turned down: see what was received";
    case error_kind::tls: return "the TLS handshake failed: certificate, name or version";
    case error_kind::closed_early:
        return "the server closed the connection while a reply was due: see its log";
    case error_kind::read_timeout:
        return "no whole reply within --timeout: the server hangs or is slower";
    case error_kind::bad_status:
        return "not a status that --expect-status calls right (default 2xx)";
    case error_kind::bad_body: return "wrong content, or the answer to another request";
    case error_kind::protocol: return "the bytes are not valid HTTP/1.1 or WebSocket";
    case error_kind::deadline:
        return "answered too late or never sent: the server does not keep up with --rate";
    }
    return {};
}

}  // namespace wireload
