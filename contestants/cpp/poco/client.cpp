// POCO's client sessions, http(s) and ws(s).
#include "client.hpp"

#include <Poco/Net/Context.h>
#include <Poco/Net/HTTPClientSession.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/Net/HTTPSClientSession.h>
#include <Poco/Net/NetException.h>
#include <Poco/Net/WebSocket.h>
#include <Poco/StreamCopier.h>
#include <Poco/URI.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace {

namespace net = Poco::Net;

const Poco::Timespan timeout(10, 0);

// What POCO's exceptions say besides their class is in displayText() alone.
template <typename Call> auto telling(Call call) {
    try {
        return call();
    } catch (const Poco::Exception& failure) {
        throw std::runtime_error(failure.displayText());
    }
}

template <typename Base> class counting : public Base {
public:
    using Base::Base;
    std::uint64_t connections = 0;

protected:
    void connect(const net::SocketAddress& address) override {
        Base::connect(address);
        ++connections;
    }
};

// Strict, since POCO otherwise does not check names that are this host's.
net::Context::Ptr context_of(const wirebench::settings& settings) {
    return new net::Context(net::Context::TLS_CLIENT_USE, settings.ca_file,
                            net::Context::VERIFY_STRICT, 9, settings.ca_file.empty());
}

class http_client : public wirebench::client {
public:
    explicit http_client(const wirebench::settings& settings)
        : uri_(settings.url),
          keep_alive_(!settings.new_connections),
          posts_(settings.posts),
          message_(settings.message) {
        if (uri_.getScheme() == "https")
            https_.emplace(uri_.getHost(), uri_.getPort(), context_of(settings));
        else http_.emplace(uri_.getHost(), uri_.getPort());
        session().setKeepAlive(keep_alive_);
        session().setKeepAliveTimeout(Poco::Timespan(60, 0));  // the default, 8 s, is shorter
        session().setTimeout(timeout);
    }

    void open() override {}  // the session connects with a request

    std::string_view operation() override {
        return telling([this] {
            net::HTTPRequest request(
                posts_ ? net::HTTPRequest::HTTP_POST : net::HTTPRequest::HTTP_GET,
                uri_.getPathEtc(), net::HTTPMessage::HTTP_1_1);
            request.setKeepAlive(keep_alive_);
            if (posts_) {
                request.setContentType(wirebench::octets);
                request.setContentLength64(static_cast<Poco::Int64>(message_.size()));
            }
            auto& sending = session().sendRequest(request);
            if (posts_) sending.write(message_.data(), static_cast<long>(message_.size()));
            net::HTTPResponse response;
            auto& body = session().receiveResponse(response);
            body_.clear();
            Poco::StreamCopier::copyToString(body, body_);
            if (response.getStatus() != net::HTTPResponse::HTTP_OK)
                throw std::runtime_error("expected status 200, got " +
                                         std::to_string(response.getStatus()));
            return std::string_view(body_);
        });
    }

    void close() override { session().reset(); }
    std::uint64_t connections() const override {
        return https_ ? https_->connections : http_->connections;
    }

private:
    net::HTTPClientSession& session() {
        if (https_) return *https_;
        return *http_;
    }

    Poco::URI uri_;
    bool keep_alive_;
    bool posts_;
    std::string message_;
    std::optional<counting<net::HTTPClientSession>> http_;
    std::optional<counting<net::HTTPSClientSession>> https_;
    std::string body_;
};

class ws_client : public wirebench::client {
public:
    explicit ws_client(const wirebench::settings& settings)
        : uri_(settings.url), message_(settings.message), buffer_(0) {
        if (uri_.getScheme() == "wss") context_ = context_of(settings);
    }

    // A session becomes one WebSocket, which then owns its connection.
    void open() override {
        telling([this] {
            net::HTTPRequest request(net::HTTPRequest::HTTP_GET, uri_.getPathEtc(),
                                     net::HTTPMessage::HTTP_1_1);
            net::HTTPResponse response;
            if (context_) {
                net::HTTPSClientSession session(uri_.getHost(), uri_.getPort(), context_);
                socket_.emplace(session, request, response);
            } else {
                net::HTTPClientSession session(uri_.getHost(), uri_.getPort());
                socket_.emplace(session, request, response);
            }
            socket_->setReceiveTimeout(timeout);
            socket_->setSendTimeout(timeout);
            ++connections_;
        });
    }

    std::string_view operation() override {
        return telling([this] {
            socket_->sendFrame(message_.data(), static_cast<int>(message_.size()),
                               net::WebSocket::FRAME_TEXT);
            buffer_.resize(0, false);
            for (;;) {  // it hands out frames, appended to what came before
                const auto before = buffer_.size();
                int flags = 0;
                const int got = socket_->receiveFrame(buffer_, flags);
                const int kind = flags & net::WebSocket::FRAME_OP_BITMASK;
                if ((got == 0 && flags == 0) || kind == net::WebSocket::FRAME_OP_CLOSE)
                    throw std::runtime_error("the server closed the connection");
                if (kind == net::WebSocket::FRAME_OP_BINARY)
                    throw std::runtime_error("expected a text message");
                if (kind == net::WebSocket::FRAME_OP_PING) {
                    socket_->sendFrame(
                        buffer_.begin() + before, got,
                        net::WebSocket::FRAME_FLAG_FIN | net::WebSocket::FRAME_OP_PONG);
                    buffer_.resize(before);
                } else if ((flags & net::WebSocket::FRAME_FLAG_FIN) != 0) {
                    break;
                }
            }
            return std::string_view(buffer_.begin(), buffer_.size());
        });
    }

    void close() override {
        telling([this] {
            socket_->shutdown();
            char ignored[128];
            int flags = 0;
            socket_->receiveFrame(ignored, sizeof ignored, flags);  // its answer
            socket_.reset();
        });
    }
    std::uint64_t connections() const override { return connections_; }

private:
    Poco::URI uri_;
    std::string message_;
    net::Context::Ptr context_;
    std::optional<net::WebSocket> socket_;
    Poco::Buffer<char> buffer_;
    std::uint64_t connections_ = 0;
};

}  // namespace

std::unique_ptr<wirebench::client> wirebench::make_client(const settings& settings) {
    if (settings.url.rfind("http", 0) == 0) return std::make_unique<http_client>(settings);
    if (settings.url.rfind("ws", 0) == 0) return std::make_unique<ws_client>(settings);
    throw std::invalid_argument("WIREBENCH_URL: expected http(s)://... or ws(s)://..., got " +
                                settings.url);
}
