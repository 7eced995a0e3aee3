// cpp-httplib's client.
#include "client.hpp"

#include <httplib.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace {

class httplib_client : public wirebench::client {
public:
    explicit httplib_client(const wirebench::settings& settings)
        : path_(settings.url.substr(settings.url.find('/', settings.url.find("://") + 3))),
          client_(settings.url.substr(0, settings.url.size() - path_.size())),
          posts_(settings.posts),
          message_(settings.message) {
        client_.set_keep_alive(!settings.new_connections);
        client_.set_connection_timeout(std::chrono::seconds(10));
        client_.set_read_timeout(std::chrono::seconds(10));
        client_.set_write_timeout(std::chrono::seconds(10));
        client_.set_socket_options([this](socket_t) { tried_ = true; });
        if (!settings.ca_file.empty()) client_.set_ca_cert_path(settings.ca_file);
    }

    void open() override {}  // the client connects with a request

    std::string_view operation() override {
        tried_ = false;
        auto& result = result_.emplace(posts_ ? client_.Post(path_, message_, wirebench::octets)
                                              : client_.Get(path_));
        // It makes a socket for each address of the host, until one connects.
        if (result && tried_) ++connections_;
        if (!result) throw std::runtime_error(httplib::to_string(result.error()));
        if (result->status != 200)
            throw std::runtime_error("expected status 200, got " + std::to_string(result->status));
        return result->body;
    }

    void close() override {}  // as set_keep_alive says
    std::uint64_t connections() const override { return connections_; }

private:
    std::string path_;
    httplib::Client client_;
    bool posts_;
    std::string message_;
    std::optional<httplib::Result> result_;
    bool tried_ = false;  // a socket was made in this operation
    std::uint64_t connections_ = 0;
};

}  // namespace

std::unique_ptr<wirebench::client> wirebench::make_client(const settings& settings) {
    if (settings.url.rfind("http", 0) != 0)
        throw std::invalid_argument("WIREBENCH_URL: expected http(s)://..., got " + settings.url);
    return std::make_unique<httplib_client>(settings);
}
