// A client's earlier sessions, by server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "openssl.hpp"

namespace wire::tls::detail {

// Those with one server, newest last. Connections keep it alive.
class server_sessions {
public:
    server_sessions(std::size_t most, bool single_use) : most_(most), single_use_(single_use) {}

    void put(session_ptr session);
    // Null when there is none. A TLS 1.3 session that serves once is taken out.
    session_ptr get();

private:
    std::mutex mutex_;
    std::vector<session_ptr> kept_;
    std::size_t most_;
    bool single_use_;
};

class session_cache {
public:
    session_cache(std::size_t max_servers, std::size_t max_sessions, bool single_use)
        : max_servers_(max_servers), max_sessions_(max_sessions), single_use_(single_use) {}

    std::shared_ptr<server_sessions> of(const std::string& server);

private:
    struct entry {
        std::shared_ptr<server_sessions> sessions;
        std::uint64_t used = 0;
    };
    std::mutex mutex_;
    std::unordered_map<std::string, entry> servers_;
    std::uint64_t uses_ = 0;
    std::size_t max_servers_;
    std::size_t max_sessions_;
    bool single_use_;
};

}  // namespace wire::tls::detail
