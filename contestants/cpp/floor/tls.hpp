// TLS by OpenSSL over a socket: what recv and send are without it. Used by the event loop and by
// the client.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

struct ssl_st;
struct ssl_ctx_st;
struct ssl_session_st;

namespace wirebench {

struct tls_free {
    void operator()(ssl_st* session) const noexcept;
    void operator()(ssl_ctx_st* context) const noexcept;
    void operator()(ssl_session_st* ticket) const noexcept;
};
using tls_session = std::unique_ptr<ssl_st, tls_free>;
using tls_context = std::unique_ptr<ssl_ctx_st, tls_free>;
using tls_ticket = std::unique_ptr<ssl_session_st, tls_free>;

// PEM files. Without a file for sessions none is kept, and no ticket is sent: each handshake is a
// whole one. With it they are, and the file gets a line for each connection: "NUMBER r" where it
// resumed one, else "NUMBER .".
tls_context make_server_context(const std::string& certificate_file, const std::string& key_file,
                                const std::string& sessions_file);
// Empty: the system's certificates.
tls_context make_client_context(const std::string& ca_file);

// The handshake comes with the first receive.
tls_session accept_tls(ssl_ctx_st& context, int fd);
// On a blocking socket; throws unless the server's certificate is one for `host`, by an authority
// of the context. `resumed`: what an earlier connection left, or null.
tls_session connect_tls(ssl_ctx_st& context, int fd, const std::string& host,
                        ssl_session_st* resumed);
// What the server has sent to resume the session; null if it has sent nothing.
tls_ticket tls_ticket_of(ssl_st& session);

// As recv and send, with errno; of a non-blocking socket EAGAIN stands for both ways of having to
// wait. What `tls_send` did not take must be given again, from the same byte on.
ssize_t tls_receive(ssl_st& session, char* to, std::size_t size);
ssize_t tls_send(ssl_st& session, const char* from, std::size_t size);
// Bytes may be here that epoll does not know of.
bool tls_may_have_more(const ssl_st& session);
void tls_say_goodbye(ssl_st& session);

}  // namespace wirebench
