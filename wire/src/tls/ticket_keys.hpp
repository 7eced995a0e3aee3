// The keys of a server's session tickets (RFC 5077), and until when a session may be resumed.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace wire::tls::detail {

using wall_time = std::chrono::system_clock::time_point;

// One key seals tickets for a period, and opens them for one more. Any thread may use it. Time is
// handed in; where it steps back, the key is replaced early.
class ticket_keys {
public:
    struct key {
        std::array<unsigned char, 16> name{};
        std::array<unsigned char, 32> cipher{};
        std::array<unsigned char, 32> mac{};
        wall_time made;

        key() = default;
        key(const key&) = default;
        key& operator=(const key&) = default;
        ~key();
    };
    struct found {
        key with;
        bool is_current = false;
    };

    explicit ticket_keys(std::chrono::seconds period) : period_(period) {}

    // The key for new tickets. None when no random bytes are to be had.
    std::optional<key> current(wall_time now);
    // The key of this name, unless it is too old.
    std::optional<found> find(const unsigned char* name, wall_time now);
    // Begins a new key ahead of time; the one before goes on opening tickets.
    void rotate(wall_time now);

private:
    bool renew(wall_time now);
    bool replace(wall_time now);

    const std::chrono::seconds period_;
    std::mutex mutex_;
    std::optional<key> current_;   // guarded by mutex_
    std::optional<key> previous_;  // guarded by mutex_
};

// What a server's tickets go by.
struct ticket_rules {
    std::shared_ptr<ticket_keys> keys;
    // From a full handshake on, however often the session is resumed.
    std::chrono::seconds session_lifetime;
    std::function<wall_time()> clock;  // never empty
};

// Makes a server's context seal and open its tickets by these rules. To be called for each of the
// contexts that a connection may change to; `rules` must outlive their connections. False when
// OpenSSL fails.
bool use_tickets(SSL_CTX& ctx, const ticket_rules& rules);

}  // namespace wire::tls::detail
