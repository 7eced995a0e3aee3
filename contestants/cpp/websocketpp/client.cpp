// A WebSocket client of websocketpp over Asio: the endpoint runs in its own thread, as in the
// library's tutorials.
#include "client.hpp"

#include <websocketpp/client.hpp>
#include <websocketpp/config/asio_client.hpp>
#include <websocketpp/config/asio_no_tls_client.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

namespace {

using plain = websocketpp::config::asio_client;
using over_tls = websocketpp::config::asio_tls_client;
using websocketpp::connection_hdl;

// "127.0.0.1" of "wss://127.0.0.1:443/".
std::string host_of(const std::string& url) {
    const auto begin = url.find("://") + 3;
    return url.substr(begin, url.find_first_of(":/", begin) - begin);
}

std::shared_ptr<boost::asio::ssl::context> tls_of(const wirebench::settings& settings) {
    namespace ssl = boost::asio::ssl;
    auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
    if (settings.ca_file.empty()) context->set_default_verify_paths();
    else context->load_verify_file(settings.ca_file);
    context->set_verify_mode(ssl::verify_peer);
    context->set_verify_callback(ssl::host_name_verification(host_of(settings.url)));
    return context;
}

template <typename Config> class websocketpp_client : public wirebench::client {
public:
    explicit websocketpp_client(const wirebench::settings& settings) : settings_(settings) {
        endpoint_.clear_access_channels(websocketpp::log::alevel::all);
        endpoint_.clear_error_channels(websocketpp::log::elevel::all);
        endpoint_.init_asio();
        endpoint_.start_perpetual();
        if constexpr (std::is_same_v<Config, over_tls>)
            endpoint_.set_tls_init_handler(
                [context = tls_of(settings_)](connection_hdl) { return context; });
        endpoint_.set_open_handler([this](connection_hdl) { become(state::open); });
        endpoint_.set_fail_handler([this](connection_hdl handle) {
            become(state::closed, endpoint_.get_con_from_hdl(handle)->get_ec().message());
        });
        endpoint_.set_close_handler(
            [this](connection_hdl) { become(state::closed, "the server closed the connection"); });
        endpoint_.set_message_handler([this](connection_hdl, message_ptr message) {
            const std::lock_guard lock(mutex_);
            received_ = std::move(message);
            changed_.notify_one();
        });
        thread_ = std::thread([this] { endpoint_.run(); });
    }

    ~websocketpp_client() override {
        endpoint_.stop_perpetual();
        endpoint_.stop();
        thread_.join();
    }

    void open() override {
        websocketpp::lib::error_code error;
        const auto connection = endpoint_.get_connection(settings_.url, error);
        if (error) throw std::runtime_error(settings_.url + ": " + error.message());
        state_ = state::opening;
        endpoint_.connect(connection);
        wait([this] { return state_ != state::opening; });
        if (state_ != state::open) throw std::runtime_error(failure_);
        handle_ = connection->get_handle();
        ++connections_;
    }

    std::string_view operation() override {
        message_.reset();
        endpoint_.send(handle_, settings_.message, websocketpp::frame::opcode::text);
        wait([this] { return received_ != nullptr || state_ != state::open; });
        if (received_ == nullptr) throw std::runtime_error(failure_);
        message_ = std::move(received_);
        if (message_->get_opcode() != websocketpp::frame::opcode::text)
            throw std::runtime_error("expected a text message");
        return message_->get_payload();
    }

    void close() override {
        websocketpp::lib::error_code error;
        endpoint_.close(handle_, websocketpp::close::status::normal, "", error);
        if (!error) wait([this] { return state_ == state::closed; });
    }

    std::uint64_t connections() const override { return connections_; }

private:
    using endpoint = websocketpp::client<Config>;
    using message_ptr = typename endpoint::message_ptr;
    enum class state { closed, opening, open };

    void become(state now, const std::string& failure = {}) {
        const std::lock_guard lock(mutex_);
        state_ = now;
        failure_ = failure;
        changed_.notify_one();
    }

    template <typename Condition> void wait(Condition condition) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, std::chrono::seconds(10), condition))
            throw std::runtime_error("no answer within 10 s");
    }

    wirebench::settings settings_;
    endpoint endpoint_;
    std::thread thread_;
    connection_hdl handle_;
    std::uint64_t connections_ = 0;
    message_ptr message_;

    std::mutex mutex_;  // guards what follows: the endpoint's thread sets it
    std::condition_variable changed_;
    state state_ = state::closed;
    std::string failure_;
    message_ptr received_;
};

}  // namespace

std::unique_ptr<wirebench::client> wirebench::make_client(const settings& settings) {
    if (settings.url.rfind("ws:", 0) == 0)
        return std::make_unique<websocketpp_client<plain>>(settings);
    if (settings.url.rfind("wss:", 0) == 0)
        return std::make_unique<websocketpp_client<over_tls>>(settings);
    throw std::invalid_argument("WIREBENCH_URL: expected ws(s)://..., got " + settings.url);
}
