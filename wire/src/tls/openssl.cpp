// OpenSSL's errors as text, and the settings that both roles' contexts share.
#include "openssl.hpp"

#include <openssl/err.h>

#include <system_error>

#include "algorithms.hpp"

namespace wire::tls::detail {

std::string take_reason() {
    const unsigned long code = ERR_get_error();
    ERR_clear_error();
    if (code == 0) return "unknown reason";
    if (ERR_SYSTEM_ERROR(code)) return std::system_category().message(ERR_GET_REASON(code));
    if (const char* text = ERR_reason_error_string(code)) return text;
    char text[160];
    ERR_error_string_n(code, text, sizeof text);
    return text;
}

error failure(std::string_view what) {
    return {errc::tls_failed, std::string(what) + ": " + take_reason()};
}

result<ctx_ptr> new_context(const SSL_METHOD* method, const algorithms& wanted) {
    ERR_clear_error();
    ctx_ptr ctx(SSL_CTX_new(method));
    if (ctx == nullptr) return failure("TLS cannot be used");
    if (auto r = set_algorithms(*ctx, wanted); !r) return r.error();
    // Buffers of 16 KiB and more are given back as soon as they are empty: idle connections are
    // small.
    SSL_CTX_set_mode(ctx.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // A new handshake in the middle costs the side that does not ask for it (CVE-2009-3555,
    // CVE-2011-1473).
    SSL_CTX_set_options(ctx.get(), SSL_OP_NO_RENEGOTIATION);
    return ctx;
}

result<std::string> protocol_list(const std::vector<std::string>& protocols) {
    std::string out;
    for (const std::string& name : protocols) {
        if (name.empty() || name.size() > 255)
            return error(errc::bad_argument,
                         "ALPN: '" + name + "' is not from 1 to 255 bytes long");
        out += static_cast<char>(name.size());
        out += name;
    }
    if (out.size() > 65'535)
        return error(errc::bad_argument, "ALPN: the names together are longer than 65535 bytes");
    return out;
}

}  // namespace wire::tls::detail
