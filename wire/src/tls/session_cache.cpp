// Keeps a client's TLS sessions by server, and gives out the newest that is still good.
#include "session_cache.hpp"

#include <algorithm>
#include <ctime>

#include "stapling.hpp"

namespace wire::tls::detail {

namespace {

std::time_t made_at(const SSL_SESSION& session) noexcept {
#if OPENSSL_VERSION_NUMBER >= 0x30300000L
    return SSL_SESSION_get_time_ex(&session);
#else
    return SSL_SESSION_get_time(&session);
#endif
}

// Also where the proof that the server's certificate was not revoked has expired.
bool is_stale(const SSL_SESSION& session, std::time_t now) noexcept {
    const std::time_t until = ocsp_until(session);
    return made_at(session) + SSL_SESSION_get_timeout(&session) <= now ||
           (until != 0 && until + ocsp_clock_skew_seconds <= now);
}

}  // namespace

void server_sessions::put(session_ptr session) {
    const std::lock_guard lock(mutex_);
    if (most_ == 0) return;
    if (kept_.size() == most_) kept_.erase(kept_.begin());
    kept_.push_back(std::move(session));
}

session_ptr server_sessions::get() {
    const std::lock_guard lock(mutex_);
    const auto now = std::time(nullptr);
    while (!kept_.empty()) {
        SSL_SESSION* const newest = kept_.back().get();
        const bool stale = is_stale(*newest, now);
        if (!stale &&
            !(single_use_ && SSL_SESSION_get_protocol_version(newest) == TLS1_3_VERSION)) {
            SSL_SESSION_up_ref(newest);
            return session_ptr(newest);
        }
        session_ptr taken = std::move(kept_.back());
        kept_.pop_back();
        if (!stale) return taken;
    }
    return nullptr;
}

std::shared_ptr<server_sessions> session_cache::of(const std::string& server) {
    const std::lock_guard lock(mutex_);
    if (max_servers_ == 0) return nullptr;
    auto it = servers_.find(server);
    if (it == servers_.end()) {
        if (servers_.size() >= max_servers_) {
            servers_.erase(std::min_element(
                servers_.begin(), servers_.end(),
                [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
        }
        it = servers_
                 .emplace(server,
                          entry{std::make_shared<server_sessions>(max_sessions_, single_use_), 0})
                 .first;
    }
    it->second.used = ++uses_;
    return it->second.sessions;
}

}  // namespace wire::tls::detail
