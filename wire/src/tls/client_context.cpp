// The client's SSL_CTX: trust, own certificate, and the sessions to resume.
#include "wire/tls/client_context.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "algorithms.hpp"
#include "engine.hpp"
#include "pem.hpp"
#include "stapling.hpp"
#include "wire/loop/address.hpp"

namespace wire::tls {

namespace {

using namespace detail;

error no_name(const std::string& name) {
    return {errc::bad_argument, "'" + name + "' cannot be the name of a server"};
}

class openssl_client final : public client_context {
public:
    openssl_client(ctx_ptr ctx, const client_options& o)
        : ctx_(std::move(ctx)),
          server_name_(o.server_name),
          insecure_(o.insecure),
          needs_staple_(o.ocsp == ocsp_response::required),
          resume_(o.resume),
          records_(usable_layer(o.records)),
          check_(o.check_server ? std::make_shared<const server_check>(o.check_server) : nullptr),
          cache_(o.max_servers, o.max_sessions_per_server, o.single_use_tickets) {}

    result<std::unique_ptr<connection>> connect(std::string_view host,
                                                std::uint16_t port) override {
        std::string name(server_name_.empty() ? host : std::string_view(server_name_));
        // A trailing dot says that the name is complete; certificates and SNI have none (RFC 6066
        // section 3).
        if (name.size() > 1 && name.back() == '.') name.pop_back();
        // OpenSSL takes a name in front of which is a dot for any below it, and ends one at NUL.
        if (name.starts_with('.') || name.find('\0') != std::string::npos) return no_name(name);
        ERR_clear_error();
        ssl_ptr ssl(SSL_new(ctx_.get()));
        if (ssl == nullptr) return failure("no TLS connection could be made");
        SSL_set_connect_state(ssl.get());
        const bool literal = address::parse(name, 0).ok();
        if (!literal && SSL_set_tlsext_host_name(ssl.get(), name.c_str()) != 1)
            return no_name(name);
        if (!insecure_) {
            SSL_set_hostflags(ssl.get(), name_check_flags);
            X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl.get());
            const int set = literal ? X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str())
                                    : SSL_set1_host(ssl.get(), name.c_str());
            if (set != 1) return no_name(name);
        }
        std::shared_ptr<server_sessions> sessions;
        if (resume_) {
            sessions = cache_.of(std::string(host) + ":" + std::to_string(port));
            if (sessions != nullptr) {
                const session_ptr earlier = sessions->get();
                if (earlier != nullptr && (!needs_staple_ || ocsp_until(*earlier) != 0))
                    SSL_set_session(ssl.get(), earlier.get());
            }
        }
        return engine::create(std::move(ssl), records_, std::move(sessions), check_);
    }

private:
    ctx_ptr ctx_;
    std::string server_name_;
    bool insecure_;
    bool needs_staple_;
    bool resume_;
    record_layer records_;
    std::shared_ptr<const server_check> check_;  // null without one
    session_cache cache_;
};

}  // namespace

result<std::shared_ptr<client_context>> client_context::create(const client_options& options) {
    if (options.insecure && options.ocsp != ocsp_response::not_asked)
        return error(errc::bad_argument, "ocsp: an insecure client checks no certificate");
    auto made = new_context(TLS_client_method(), algorithms_of(options));
    if (!made) return made.error();
    ctx_ptr ctx = *std::move(made);
    if (!engine::log_keys(*ctx, options.records, options.key_log))
        return failure("TLS cannot be used");
    if (!options.ca_file.empty() || !options.ca_pem.empty()) {
        if (auto r = trust(*ctx, options.ca_file, options.ca_pem); !r) return r.error();
    } else if (!options.insecure && SSL_CTX_set_default_verify_paths(ctx.get()) != 1) {
        return failure("cannot use the system's authorities");
    }
    SSL_CTX_set_verify(ctx.get(), options.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
    if (auto r = ask_for_staples(*ctx, options.ocsp); !r) return r.error();
    const certificate_source own{options.certificate_file, options.key_file,
                                 options.certificate_pem,  options.key_pem,
                                 options.key_password,     options.ask_key_password};
    if (!own.certificate_file.empty() || !own.certificate_pem.empty() || !own.key_file.empty() ||
        !own.key_pem.empty()) {
        if (auto r = use_certificate(*ctx, own); !r) return r.error();
    }
    engine::note_alerts(*ctx);
    const auto protocols = protocol_list(options.protocols);
    if (!protocols) return protocols.error();
    // This one returns 0 for success.
    if (!protocols->empty() &&
        SSL_CTX_set_alpn_protos(ctx.get(),
                                reinterpret_cast<const unsigned char*>(protocols->data()),
                                static_cast<unsigned>(protocols->size())) != 0) {
        return failure("ALPN");
    }
    if (options.resume) engine::keep_sessions(*ctx);
    return std::shared_ptr<client_context>(
        std::make_shared<openssl_client>(std::move(ctx), options));
}

}  // namespace wire::tls
