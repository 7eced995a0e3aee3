// The server's SSL_CTX for each certificate, which one a client gets, and their renewal.
#include "wire/tls/server_context.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <array>
#include <mutex>

#include "algorithms.hpp"
#include "engine.hpp"
#include "pem.hpp"
#include "stapling.hpp"
#include "ticket_keys.hpp"

namespace wire::tls {

namespace {

using namespace detail;

// What the files said when they were last read. OpenSSL's callbacks hold a pointer to it, and a
// connection in its handshake may outlive a reload: it is owned by the default certificate's
// SSL_CTX, which every connection keeps alive.
struct reading {
    std::string protocols;
    ticket_rules tickets;
    std::vector<SSL_CTX*> others;  // for names; the default one is the owner

    ~reading() {
        for (SSL_CTX* ctx : others) SSL_CTX_free(ctx);
    }
};

int owner_index() noexcept {
    static const int index = SSL_CTX_get_ex_new_index(
        0, nullptr, nullptr, nullptr, [](void*, void* held, CRYPTO_EX_DATA*, int, long, void*) {
            delete static_cast<reading*>(held);
        });
    return index;
}

// By the rules by which wire's client checks names.
bool is_for(SSL_CTX* ctx, const char* name) noexcept {
    return X509_check_host(SSL_CTX_get0_certificate(ctx), name, 0, name_check_flags, nullptr) == 1;
}

int choose_certificate(SSL* ssl, int*, void* context) noexcept {
    const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (name == nullptr) return SSL_TLSEXT_ERR_NOACK;
    if (is_for(SSL_get_SSL_CTX(ssl), name)) return SSL_TLSEXT_ERR_OK;
    for (SSL_CTX* const other : static_cast<reading*>(context)->others) {
        if (is_for(other, name)) {
            SSL_set_SSL_CTX(ssl, other);
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_NOACK;
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* size,
                    const unsigned char* offered, unsigned offered_size, void* context) noexcept {
    const std::string& ours = static_cast<reading*>(context)->protocols;
    unsigned char* chosen = nullptr;
    const int how =
        SSL_select_next_proto(&chosen, size, reinterpret_cast<const unsigned char*>(ours.data()),
                              static_cast<unsigned>(ours.size()), offered, offered_size);
    *out = chosen;
    return how == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

result<void> check_clients(SSL_CTX& ctx, const server_options& o) {
    if (o.client == client_certificate::not_asked) return {};
    if (o.client_ca_file.empty() && o.client_ca_pem.empty())
        return error(errc::bad_argument, "to check clients' certificates takes authorities");
    if (auto r = trust(ctx, o.client_ca_file, o.client_ca_pem, true); !r) return r;
    const bool required = o.client == client_certificate::required;
    SSL_CTX_set_verify(&ctx, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                       nullptr);
    return {};
}

bool sends_tickets(const server_options& o) noexcept {
    return o.tickets &&
           (o.client == client_certificate::not_asked || o.tickets_with_client_certificates);
}

// RFC 8446 section 4.6.1 limits a ticket's lifetime to 7 days.
result<void> check_times(const server_options& o) {
    constexpr std::chrono::hours longest{7 * 24};
    if (o.session_lifetime < std::chrono::seconds(1) || o.session_lifetime > longest)
        return error(errc::bad_argument, "session_lifetime: from 1 second to 7 days");
    if (o.ticket_key_period < std::chrono::seconds(1) || o.ticket_key_period > longest)
        return error(errc::bad_argument, "ticket_key_period: from 1 second to 7 days");
    return {};
}

// The context of one certificate. All are made here and alike: a handshake begins with the first,
// and goes on with what the one for its name says of protocols, authorities and sessions.
result<ctx_ptr> make_context(const certificate_source& from, const server_options& o,
                             reading& held) {
    auto made = new_context(TLS_server_method(), algorithms_of(o));
    if (!made) return made.error();
    ctx_ptr ctx = *std::move(made);
    if (!engine::log_keys(*ctx, o.records, o.key_log)) return failure("TLS cannot be used");
    if (auto r = use_certificate(*ctx, from); !r) return r.error();
    if (auto r = check_clients(*ctx, o); !r) return r.error();
    engine::note_alerts(*ctx);
    // Sessions travel in tickets: nothing is kept here for clients that may never come back.
    SSL_CTX_set_session_cache_mode(ctx.get(), SSL_SESS_CACHE_OFF);
    if (!sends_tickets(o)) {
        SSL_CTX_set_options(ctx.get(), SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(ctx.get(), 0);
    } else if (!use_tickets(*ctx, held.tickets)) {
        return failure("TLS cannot be used");
    }
    static constexpr std::array<unsigned char, 4> ours = {'w', 'i', 'r', 'e'};
    SSL_CTX_set_session_id_context(ctx.get(), ours.data(), ours.size());
    SSL_CTX_set_tlsext_servername_callback(ctx.get(), choose_certificate);
    SSL_CTX_set_tlsext_servername_arg(ctx.get(), &held);
    if (!held.protocols.empty()) SSL_CTX_set_alpn_select_cb(ctx.get(), choose_protocol, &held);
    return ctx;
}

result<ctx_ptr> read_files(const server_options& o, std::shared_ptr<ticket_keys> keys) {
    if (o.certificates.empty())
        return error(errc::bad_argument, "a TLS server needs at least one certificate");
    auto held = std::make_unique<reading>();
    auto protocols = protocol_list(o.protocols);
    if (!protocols) return protocols.error();
    held->protocols = *std::move(protocols);
    held->tickets = {std::move(keys), o.session_lifetime, o.clock};
    ctx_ptr first;
    for (const certificate_source& from : o.certificates) {
        auto made = make_context(from, o, *held);
        if (!made) return made.error();
        if (auto r = staple(**made, from, o.clock); !r) {
            const auto at = std::to_string(&from - o.certificates.data());
            return error(r.error().code, "certificates[" + at + "]: " + r.error().message);
        }
        if (first != nullptr) {
            held->others.push_back((*std::move(made)).release());
        } else {
            first = *std::move(made);
        }
    }
    if (SSL_CTX_set_ex_data(first.get(), owner_index(), held.get()) != 1)
        return failure("TLS cannot be used");
    held.release();
    return first;
}

class openssl_server final : public server_context {
public:
    openssl_server(ctx_ptr ctx, server_options o, std::shared_ptr<ticket_keys> keys)
        : ctx_(std::move(ctx)),
          options_(std::move(o)),
          records_(usable_layer(options_.records)),
          keys_(std::move(keys)) {}

    result<std::unique_ptr<connection>> accept() override {
        ERR_clear_error();
        ssl_ptr ssl;
        {
            const std::lock_guard lock(mutex_);
            ssl.reset(SSL_new(ctx_.get()));
        }
        if (ssl != nullptr) {
            SSL_set_accept_state(ssl.get());
            if (options_.client != client_certificate::not_asked) {
                X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl.get()),
                                           std::chrono::system_clock::to_time_t(options_.clock()));
            }
        }
        return engine::create(std::move(ssl), records_);
    }

    result<void> reload() override {
        const std::lock_guard reloading(reload_mutex_);
        return read_again(options_);
    }

    result<void> reload(std::vector<certificate_source> certificates,
                        std::string client_ca_pem) override {
        const std::lock_guard reloading(reload_mutex_);
        server_options wanted = options_;
        wanted.certificates = std::move(certificates);
        if (!client_ca_pem.empty()) {
            wanted.client_ca_pem = std::move(client_ca_pem);
            wanted.client_ca_file.clear();
        }
        if (auto r = read_again(wanted); !r) return r;
        options_.certificates = std::move(wanted.certificates);
        options_.client_ca_pem = std::move(wanted.client_ca_pem);
        options_.client_ca_file = std::move(wanted.client_ca_file);
        return {};
    }

private:
    // Guarded by reload_mutex_.
    result<void> read_again(const server_options& wanted) {
        // Where clients show certificates, old tickets end here, those also that connections of
        // the old files have yet to send: what they were checked against may have changed.
        const bool keep = options_.client == client_certificate::not_asked;
        auto keys = keep ? keys_ : std::make_shared<ticket_keys>(options_.ticket_key_period);
        auto read = read_files(wanted, keys);
        if (!read) return read.error();
        if (keep) keys->rotate(options_.clock());
        keys_ = std::move(keys);
        ctx_ptr next = *std::move(read);
        const std::lock_guard lock(mutex_);
        ctx_ = std::move(next);
        return {};
    }

    std::mutex mutex_;
    ctx_ptr ctx_;             // guarded by mutex_
    server_options options_;  // certificates and authorities of clients: guarded by reload_mutex_
    record_layer records_;
    std::mutex reload_mutex_;            // taken before mutex_
    std::shared_ptr<ticket_keys> keys_;  // guarded by reload_mutex_
};

}  // namespace

result<std::shared_ptr<server_context>> server_context::create(const server_options& options) {
    if (auto r = check_times(options); !r) return r.error();
    server_options own = options;
    if (!own.clock) own.clock = [] { return std::chrono::system_clock::now(); };
    auto keys = std::make_shared<ticket_keys>(own.ticket_key_period);
    auto read = read_files(own, keys);
    if (!read) return read.error();
    return std::shared_ptr<server_context>(
        std::make_shared<openssl_server>(*std::move(read), std::move(own), std::move(keys)));
}

}  // namespace wire::tls
