// What a C++ client library has to implement to be measured: open, one operation, close.
//
// Two programs drive it: contract_main.cpp (the client contract of the lab) and
// google_benchmark_main.cpp. Failures are exceptions derived from std::exception; after one, the
// driver closes and opens again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace wirebench {

struct settings {
    std::string url;      // http://host:port/path or ws://host:port/ (https, wss)
    std::string message;  // ws: the text to send and to get back
    std::string ca_file;  // empty: the system's certificates
};

class client {
public:
    client() = default;
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    virtual ~client() = default;

    // Makes the handle, and the connection where the library connects ahead of the first request.
    virtual void open() = 0;

    // http: sends one GET, reads the whole response, throws unless its status is 200.
    // ws: sends the message as text and receives one message.
    // Returns the body or message received; it must stay valid until the next call.
    virtual std::string_view operation() = 0;

    // Gives up the handle and the connection. Called only after a successful open().
    virtual void close() = 0;

    // Connections opened so far, as the library or the code around it counts them.
    virtual std::uint64_t connections() const = 0;
};

// Defined by each contestant; chooses by the scheme of the URL, throws when it has no such scheme.
std::unique_ptr<client> make_client(const settings& settings);

// From here on for the drivers, common.cpp.

// Byte i is 'a' + i % 26: what /payload/{n} serves and what is sent to an echo server.
std::string pattern(std::size_t size);

enum class policy { reuse, renew };

// Runs operations one after another by the policy, checks what comes back, and counts.
class session {
public:
    // `what` must outlive the session.
    session(client& what, policy how, std::string expected);
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    // Opens the connection that policy `reuse` keeps, unless it is open.
    void prepare();
    // Throws when the operation failed or brought something else than expected.
    void operate();
    void finish();

private:
    client& client_;
    policy policy_;
    std::string expected_;
    bool open_ = false;
};

// The client contract's environment.
struct environment {
    wirebench::settings settings;
    wirebench::policy policy = policy::reuse;
    std::string expected;
    std::uint64_t warmup = 0;
    std::uint64_t operations = 1;
    std::string samples_file;
};
environment read_environment();

}  // namespace wirebench
