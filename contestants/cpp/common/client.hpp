// What a client library of C or C++ has to implement to be measured: open, one operation, close.
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
    std::string message;  // ws: the text to send and to get back; http with `posts`: the body
    std::string ca_file;  // empty: the system's certificates
    // Policy `new`: each operation is the only one of its connection. For libraries that are told
    // so ahead, or whose connections close() cannot reach.
    bool new_connections = false;
    bool posts = false;  // http: each operation is a POST of `message` as octets, not a GET
};

// The content type of what is posted.
inline constexpr char octets[] = "application/octet-stream";

class client {
public:
    client() = default;
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    virtual ~client() = default;

    // Makes the connection where the library connects ahead of the first request. What the
    // library's users keep between connections (handle, pool, TLS context) the constructor makes.
    virtual void open() = 0;

    // http: sends one GET or POST, reads the whole response, throws unless its status is 200.
    // ws: sends the message as text and receives one message.
    // Returns the body or message received; it must stay valid until the next call.
    virtual std::string_view operation() = 0;

    // Gives up the connection and keeps the rest. Called only after a successful open().
    virtual void close() = 0;

    // Connections opened so far, as the library or the code around it counts them.
    virtual std::uint64_t connections() const = 0;
};

// Defined by each contestant; chooses by the scheme of the URL, throws when it has no such scheme.
std::unique_ptr<client> make_client(const settings& settings);

// From here on for the drivers, common.cpp.

// Byte i is 'a' + i % 26: what /payload/{n} serves and what is posted and sent to an echo server.
std::string pattern(std::size_t size);

// reuse: one client, one connection. renew: one client, a connection for each operation. cold: a
// client for each operation, made and destroyed within it.
enum class policy { reuse, renew, cold };

// Runs operations one after another by the policy, checks what comes back, and counts.
class session {
public:
    // Throws what make_client throws.
    session(settings settings, policy how, std::string expected);
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    // Opens the connection that policy `reuse` keeps, unless it is open.
    void prepare();
    // Throws when the operation failed or brought something else than expected.
    void operate();
    void finish();
    // Opened so far by all clients of this session.
    std::uint64_t connections() const;

private:
    void connect();
    void drop() noexcept;

    settings settings_;
    policy policy_;
    std::string expected_;
    std::unique_ptr<client> client_;  // null between the operations of policy cold
    bool open_ = false;
    std::uint64_t dropped_ = 0;  // connections of the clients before this one
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
