// A server on a thread of its own for as long as a test needs it.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "wire/server/server.hpp"

namespace wire::testing {

// A handler that answers with "METHOD path body".
inline void mirror(http::response res) {
    res.body() = std::string(res.request().method_text()) + " " +
                 std::string(res.request().path()) + " " + std::string(res.request().body());
    res.send();
}

class served {
public:
    explicit served(http::handler h, http::server_options options = {}) {
        start(std::move(h), std::move(options));
    }
    explicit served(http::router routes, http::server_options options = {}) {
        start(std::move(routes), std::move(options));
    }
    ~served() { stop(); }

    std::uint16_t port() const { return server_->port(); }
    void ask_to_stop() { server_->stop(); }
    void join() {
        if (thread_.joinable()) thread_.join();
    }
    // Returns when the server has drained.
    void stop() {
        if (!server_) return;
        server_->stop();
        join();
        server_.reset();
    }

private:
    template <typename Handler> void start(Handler h, http::server_options options) {
        if (options.host == http::server_options().host) options.host = "127.0.0.1";
        auto made = http::server::listen(0, std::move(h), std::move(options));
        if (!made) {
            ADD_FAILURE() << made.error().message;
            return;
        }
        server_.emplace(*std::move(made));
        thread_ = std::thread([this] { server_->run(); });
    }

    std::optional<http::server> server_;
    std::thread thread_;
};

}  // namespace wire::testing
