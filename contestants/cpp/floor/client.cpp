// The floor client: blocking sockets, with OpenSSL for https and wss, and the contract's
// operations.
#include "client.hpp"
#include "tls.hpp"
#include "websocket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using wirebench::settings;

constexpr std::size_t max_head_bytes = 16 * 1024;
constexpr time_t timeout_s = 10;

struct address {
    std::string scheme, host, port, path;
};

address parse_url(const std::string& url) {
    address out;
    const auto scheme_end = url.find("://");
    const auto authority = scheme_end == url.npos ? url.npos : scheme_end + 3;
    const auto path = url.find('/', authority);
    out.scheme = url.substr(0, scheme_end);
    const bool tls = out.scheme == "https" || out.scheme == "wss";
    if (authority == url.npos || (out.scheme != "http" && out.scheme != "ws" && !tls))
        throw std::invalid_argument("WIREBENCH_URL: expected http(s)://... or ws(s)://..., got '" +
                                    url + "'");
    auto host = url.substr(authority, path == url.npos ? path : path - authority);
    const auto colon = host.rfind(':');
    const bool has_port = colon != host.npos && host.find(']', colon) == host.npos;
    out.port = has_port ? host.substr(colon + 1) : tls ? "443" : "80";
    if (has_port) host.resize(colon);
    if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
    out.host = host;
    out.path = path == url.npos ? "/" : url.substr(path);
    return out;
}

struct endpoint {
    sockaddr_storage bytes{};
    socklen_t size = 0;
};

// What `to` names, in the order to try.
std::vector<endpoint> look_up(const address& to) {
    std::vector<endpoint> all;
    const auto add = [&](const char* host) {
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        hints.ai_flags = AI_NUMERICSERV;
        addrinfo* found = nullptr;
        if (const int unknown = getaddrinfo(host, to.port.c_str(), &hints, &found))
            throw std::runtime_error(host + std::string(": ") + gai_strerror(unknown));
        for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
            auto& next = all.emplace_back();
            std::memcpy(&next.bytes, one->ai_addr, one->ai_addrlen);
            next.size = one->ai_addrlen;
        }
        freeaddrinfo(found);
    };
    if (to.host == "localhost") {  // loopback whatever a lookup says: RFC 6761, section 6.3
        add("::1");
        add("127.0.0.1");
    } else {
        add(to.host.c_str());
    }
    return all;
}

// One blocking connection and the bytes received but not used yet.
class stream {
public:
    // `context`: null for plain TCP. `resumed`: what ticket() of another stream gave, or null.
    stream(const address& to, const std::vector<endpoint>& endpoints, ssl_ctx_st* context,
           ssl_session_st* resumed) {
        int failure = 0;
        for (std::size_t i = 0; i < endpoints.size() && fd_ < 0; ++i)
            failure = connect_to(endpoints[i]);
        if (fd_ < 0) throw std::system_error(failure, std::generic_category(), "connect");
        if (context == nullptr) return;
        try {
            tls_ = wirebench::connect_tls(*context, fd_, to.host, resumed);
        } catch (...) {
            ::close(fd_);
            throw;
        }
    }
    ~stream() {
        if (tls_ != nullptr) wirebench::tls_say_goodbye(*tls_);
        ::close(fd_);
    }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    wirebench::tls_ticket ticket() const {
        return tls_ != nullptr ? wirebench::tls_ticket_of(*tls_) : nullptr;
    }

    void send_all(std::string_view bytes) const {
        while (!bytes.empty()) {
            const auto sent = tls_ != nullptr
                                  ? wirebench::tls_send(*tls_, bytes.data(), bytes.size())
                                  : send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent < 0) throw std::system_error(errno, std::generic_category(), "send");
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    // What has arrived and is not used; valid until the next call of `more`.
    std::string_view received() const { return {buffer_.data() + begin_, end_ - begin_}; }
    void use(std::size_t size) { begin_ += size; }

    // Receives until there are at least `size` bytes.
    std::string_view at_least(std::size_t size) {
        while (end_ - begin_ < size) more(size);
        return received();
    }

    // Receives once; `expected` bytes in all are known to come.
    void more(std::size_t expected) {
        if (begin_ == end_) {
            begin_ = end_ = 0;
        } else if (begin_ + expected > buffer_.size()) {
            std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
            end_ -= std::exchange(begin_, 0);
        }
        if (expected > buffer_.size()) buffer_.resize(expected);
        if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
        char* const to = buffer_.data() + end_;
        const auto room = buffer_.size() - end_;
        const auto got =
            tls_ != nullptr ? wirebench::tls_receive(*tls_, to, room) : recv(fd_, to, room, 0);
        if (got < 0) throw std::system_error(errno, std::generic_category(), "recv");
        if (got == 0) throw std::runtime_error("the server closed the connection early");
        end_ += static_cast<std::size_t>(got);
    }

    // Receives until the blank line after a head, and takes the head.
    std::string take_head() {
        std::size_t end = 0;
        while ((end = received().find("\r\n\r\n")) == std::string_view::npos) {
            if (received().size() > max_head_bytes)
                throw std::runtime_error("the response head is too long");
            more(received().size() + 1);
        }
        std::string head(received().substr(0, end + 2));
        use(end + 4);
        return head;
    }

private:
    // Returns 0, or the error, and then there is no descriptor.
    int connect_to(const endpoint& to) {
        fd_ = socket(to.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const timeval timeout{.tv_sec = timeout_s, .tv_usec = 0};
        const int on = 1;
        setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
        setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (connect(fd_, reinterpret_cast<const sockaddr*>(&to.bytes), to.size) == 0) return 0;
        const int failure = errno;
        ::close(std::exchange(fd_, -1));
        return failure;
    }

    int fd_ = -1;
    wirebench::tls_session tls_;
    std::string buffer_ = std::string(64 * 1024, '\0');
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

// The value of a field in a head whose lines all end with CRLF.
std::optional<std::string_view> field(std::string_view head, std::string_view name) {
    for (auto at = head.find("\r\n"); at + 2 < head.size(); at = head.find("\r\n", at + 2)) {
        const auto line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
        if (line.size() <= name.size() || line[name.size()] != ':' ||
            strncasecmp(line.data(), name.data(), name.size()) != 0)
            continue;
        auto value = line.substr(name.size() + 1);
        while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
        while (value.ends_with(' ') || value.ends_with('\t')) value.remove_suffix(1);
        return value;
    }
    return std::nullopt;
}

void expect_status(std::string_view head, std::string_view status) {
    if (!head.starts_with("HTTP/1.1 ") || head.substr(9, 3) != status)
        throw std::runtime_error("expected status " + std::string(status) + ", got " +
                                 std::string(head.substr(0, head.find('\r'))));
}

class raw_client : public wirebench::client {
public:
    raw_client(const settings& settings, address to)
        : settings_(settings), to_(std::move(to)), endpoints_(look_up(to_)) {
        if (to_.scheme == "https" || to_.scheme == "wss")
            tls_ = wirebench::make_client_context(settings_.ca_file);
    }
    void open() override {
        stream_.emplace(to_, endpoints_, tls_.get(), ticket_.get());
        ++connections_;
    }
    void close() override {
        if (stream_) ticket_ = stream_->ticket();
        stream_.reset();
    }
    std::uint64_t connections() const override { return connections_; }

protected:
    settings settings_;
    address to_;
    std::vector<endpoint> endpoints_;  // as long as the client: policy `cold` looks them up again
    wirebench::tls_context tls_;
    wirebench::tls_ticket ticket_;  // of the last connection
    std::optional<stream> stream_;
    std::uint64_t connections_ = 0;
};

class http_client : public raw_client {
public:
    http_client(const settings& settings, address to)
        : raw_client(settings, std::move(to)),
          request_((settings.posts ? "POST " : "GET ") + to_.path +
                   " HTTP/1.1\r\nHost: " + to_.host + ":" + to_.port + "\r\n") {
        if (settings.posts)
            request_ += std::string("Content-Type: ") + wirebench::octets +
                        "\r\nContent-Length: " + std::to_string(settings.message.size()) +
                        "\r\n\r\n" + settings.message;
        else request_ += "\r\n";
    }

    std::string_view operation() override {
        if (server_closed_) {  // as `Connection: close` asked for
            close();
            open();
            server_closed_ = false;
        }
        stream_->use(used_);
        used_ = 0;
        stream_->send_all(request_);
        const auto head = stream_->take_head();
        expect_status(head, "200");
        const auto text = field(head, "content-length");
        std::size_t length = 0;
        if (!text ||
            std::from_chars(text->data(), text->data() + text->size(), length).ptr !=
                text->data() + text->size() ||
            text->empty())
            throw std::runtime_error("expected a Content-Length, got none that is a number");
        const auto connection = field(head, "connection");
        server_closed_ = connection && connection->size() == 5 &&
                         strncasecmp(connection->data(), "close", 5) == 0;
        used_ = length;
        return stream_->at_least(length).substr(0, length);
    }

    void close() override {
        used_ = 0;
        server_closed_ = false;
        raw_client::close();
    }

private:
    std::string request_;
    std::size_t used_ = 0;  // of what was received, by the body handed out last
    bool server_closed_ = false;
};

class ws_client : public raw_client {
public:
    using raw_client::raw_client;

    void open() override {
        raw_client::open();
        // RFC 6455 asks for a random key and mask against confused proxies; the floor has none
        // between, and takes fixed ones.
        constexpr std::string_view key = "d2lyZWJlbmNoLWZsb29yIQ==";
        try {
            stream_->send_all(
                "GET " + to_.path + " HTTP/1.1\r\nHost: " + to_.host + ":" + to_.port +
                "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: " +
                std::string(key) + "\r\nSec-WebSocket-Version: 13\r\n\r\n");
            const auto head = stream_->take_head();
            expect_status(head, "101");
            if (field(head, "sec-websocket-accept") != wirebench::websocket::accept_key(key))
                throw std::runtime_error(
                    "the server's Sec-WebSocket-Accept does not answer our key");
        } catch (...) {
            stream_.reset();
            throw;
        }
    }

    std::string_view operation() override {
        using namespace wirebench::websocket;
        frame_.clear();
        append_masked(text, settings_.message);
        stream_->send_all(frame_);
        message_.clear();
        bool begun = false;
        for (;;) {
            const auto frame = receive();
            if (frame.op == ping) {
                frame_.clear();
                append_masked(pong, frame.payload);
                stream_->send_all(frame_);
                continue;
            }
            if (frame.op == pong) continue;
            if (frame.op != (begun ? continuation : text))
                throw std::runtime_error("expected a text message, got opcode " +
                                         std::to_string(frame.op));
            if (!begun && frame.final) return frame.payload;
            begun = true;
            message_.append(frame.payload);
            if (frame.final) return message_;
        }
    }

    void close() override {
        used_ = 0;
        try {
            using namespace wirebench::websocket;
            frame_.clear();
            append_masked(wirebench::websocket::close, std::string_view("\x03\xe8", 2));
            stream_->send_all(frame_);
            while (receive().op != wirebench::websocket::close) continue;
        } catch (const std::exception&) {
            // It is being closed: a peer that has gone first is no error.
        }
        used_ = 0;
        raw_client::close();
    }

private:
    void append_masked(unsigned op, std::string_view payload) {
        constexpr char mask[] = {0x37, static_cast<char>(0xfa), 0x21, 0x3d};
        wirebench::websocket::append_head(frame_, op, payload.size());
        frame_[1] = static_cast<char>(frame_[1] | 0x80);
        frame_.append(mask, 4).append(payload);
        wirebench::websocket::apply_mask(frame_.data() + frame_.size() - payload.size(),
                                         payload.size(), mask);
    }

    // Receives one frame; its payload is valid until the next call.
    wirebench::websocket::frame receive() {
        stream_->use(std::exchange(used_, 0));
        auto bytes = stream_->at_least(2);
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
        std::uint64_t length = byte(1);
        if (length >= 128) throw std::runtime_error("the server sent a masked frame");
        std::size_t head = 2;
        if (length >= 126) {
            head += length == 126 ? 2 : 8;
            bytes = stream_->at_least(head);
            length = 0;
            for (std::size_t i = 2; i < head; ++i) length = length << 8 | byte(i);
            if (length > wirebench::websocket::max_message_bytes)
                throw std::runtime_error("the server sent a frame of " + std::to_string(length) +
                                         " bytes");
        }
        bytes = stream_->at_least(head + length);
        used_ = head + length;
        return {.final = (byte(0) & 0x80) != 0,
                .op = byte(0) & 0x0fu,
                .payload = bytes.substr(head, length)};
    }

    std::string frame_;     // what is sent
    std::string message_;   // a message received in several frames
    std::size_t used_ = 0;  // of what was received, by the frame handed out last
};

}  // namespace

std::unique_ptr<wirebench::client> wirebench::make_client(const settings& settings) {
    auto to = parse_url(settings.url);
    if (to.scheme.starts_with("http"))
        return std::make_unique<http_client>(settings, std::move(to));
    return std::make_unique<ws_client>(settings, std::move(to));
}
