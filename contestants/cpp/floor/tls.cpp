#include "tls.hpp"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace wirebench {
namespace {

[[noreturn]] void fail(const std::string& what) {
    const auto code = ERR_get_error();
    const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
    throw std::runtime_error(what + ": " + (reason != nullptr ? reason : "failed"));
}

tls_context make_context(const SSL_METHOD* method) {
    tls_context out(SSL_CTX_new(method));
    if (out == nullptr) fail("SSL_CTX_new");
    SSL_CTX_set_min_proto_version(out.get(), TLS1_2_VERSION);
    SSL_CTX_set_session_cache_mode(out.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(out.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_num_tickets(out.get(), 0);
    SSL_CTX_set_mode(out.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // One system call for what is there, not two for each record.
    SSL_CTX_set_read_ahead(out.get(), 1);
    return out;
}

int noted_in = -1;  // shared with processes that are forked later

void note_session(const SSL* session, int where, int /*result*/) {
    if ((where & SSL_CB_HANDSHAKE_DONE) == 0) return;
    static unsigned long connections = 0;
    dprintf(noted_in, "%d.%lu %c\n", static_cast<int>(getpid()), ++connections,
            SSL_session_reused(session) == 1 ? 'r' : '.');
}

void issue_sessions(SSL_CTX& context, const std::string& file) {
    noted_in = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (noted_in < 0)
        throw std::system_error(errno, std::generic_category(), "WIREBENCH_TLS_SESSIONS " + file);
    SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_SERVER);
    SSL_CTX_clear_options(&context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(&context, 2);  // OpenSSL's own number
    SSL_CTX_set_info_callback(&context, note_session);
}

ssize_t result_of(ssl_st& session, int done) {
    if (done > 0) return done;
    switch (SSL_get_error(&session, done)) {
    case SSL_ERROR_ZERO_RETURN: return 0;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: errno = EAGAIN; return -1;
    case SSL_ERROR_SYSCALL:
        if (errno == 0) errno = ECONNRESET;
        return -1;
    default: errno = EPROTO; return -1;
    }
}

int at_most_int(std::size_t size) { return static_cast<int>(std::min<std::size_t>(size, INT_MAX)); }

}  // namespace

void tls_free::operator()(ssl_st* session) const noexcept { SSL_free(session); }
void tls_free::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }
void tls_free::operator()(ssl_session_st* ticket) const noexcept { SSL_SESSION_free(ticket); }

tls_context make_server_context(const std::string& certificate_file, const std::string& key_file,
                                const std::string& sessions_file) {
    auto out = make_context(TLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(out.get(), certificate_file.c_str()) != 1)
        fail("WIREBENCH_TLS_CERT " + certificate_file);
    if (SSL_CTX_use_PrivateKey_file(out.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1)
        fail("WIREBENCH_TLS_KEY " + key_file);
    if (!sessions_file.empty()) issue_sessions(*out, sessions_file);
    return out;
}

tls_context make_client_context(const std::string& ca_file) {
    auto out = make_context(TLS_client_method());
    SSL_CTX_set_verify(out.get(), SSL_VERIFY_PEER, nullptr);
    const int loaded = ca_file.empty() ? SSL_CTX_set_default_verify_paths(out.get())
                                       : SSL_CTX_load_verify_file(out.get(), ca_file.c_str());
    if (loaded != 1) fail("WIREBENCH_CA_FILE " + ca_file);
    return out;
}

tls_session accept_tls(ssl_ctx_st& context, int fd) {
    tls_session out(SSL_new(&context));
    if (out == nullptr || SSL_set_fd(out.get(), fd) != 1) return nullptr;
    SSL_set_accept_state(out.get());
    return out;
}

tls_session connect_tls(ssl_ctx_st& context, int fd, const std::string& host,
                        ssl_session_st* resumed) {
    tls_session out(SSL_new(&context));
    if (out == nullptr || SSL_set_fd(out.get(), fd) != 1) fail("SSL_new");
    if (resumed != nullptr && SSL_set_session(out.get(), resumed) != 1) fail("SSL_set_session");
    auto* const wanted = SSL_get0_param(out.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) != 1) {  // else it is a name
        ERR_clear_error();
        if (SSL_set1_host(out.get(), host.c_str()) != 1 ||
            SSL_set_tlsext_host_name(out.get(), host.c_str()) != 1)
            fail(host);
    }
    ERR_clear_error();
    if (SSL_connect(out.get()) != 1) fail("TLS handshake with " + host);
    return out;
}

tls_ticket tls_ticket_of(ssl_st& session) {
    tls_ticket out(SSL_get1_session(&session));
    return out != nullptr && SSL_SESSION_is_resumable(out.get()) == 1 ? std::move(out) : nullptr;
}

ssize_t tls_receive(ssl_st& session, char* to, std::size_t size) {
    ERR_clear_error();
    errno = 0;
    return result_of(session, SSL_read(&session, to, at_most_int(size)));
}

ssize_t tls_send(ssl_st& session, const char* from, std::size_t size) {
    ERR_clear_error();
    errno = 0;
    return result_of(session, SSL_write(&session, from, at_most_int(size)));
}

bool tls_may_have_more(const ssl_st& session) { return SSL_has_pending(&session) == 1; }

void tls_say_goodbye(ssl_st& session) {
    ERR_clear_error();
    if (SSL_is_init_finished(&session)) SSL_shutdown(&session);
}

}  // namespace wirebench
