// TLS with a proxy, and inside it, once a tunnel stands, TLS with the server behind it.
#pragma once

#include <memory>
#include <string>

#include "wire/base/function.hpp"
#include "wire/loop/stream_filter.hpp"

namespace wire::detail {

// It is the stream's filter from the beginning: a filter cannot be replaced, since it holds
// received bytes and errors of its stream.
class proxy_filter final : public stream_filter {
public:
    // `name`: of the proxy, for errors.
    proxy_filter(std::unique_ptr<stream_filter> with_proxy, std::string name) noexcept
        : outer_(std::move(with_proxy)), name_(std::move(name)) {}

    // From now on the stream's bytes are the server's. Appends to `out`, the stream's own, what
    // begins the handshake, and until that is complete nothing else may be put there. `opened` is
    // called when it is, from inside receive(): it must leave the stream alone.
    result<void> nest(std::unique_ptr<stream_filter> with_server, buffer& out,
                      unique_function<void()> opened);

    result<void> begin(buffer& to_peer) override;
    result<step> receive(std::span<const char> raw, std::span<char> plain,
                         buffer& to_peer) override;
    result<void> send(std::string_view plain, buffer& to_peer) override;
    void finish(buffer& to_peer) noexcept override;
    bool is_open() const noexcept override { return outer_->is_open(); }
    bool has_ended() const noexcept override {
        return inner_ != nullptr ? inner_->has_ended() : outer_->has_ended();
    }

private:
    bool server_is_open() const noexcept { return inner_ != nullptr && inner_->is_open(); }
    error of_proxy(const error& why) const {
        return {why.code, "proxy " + name_ + ": " + why.message};
    }
    void open_outer(std::span<const char> raw, buffer& to_peer);

    std::unique_ptr<stream_filter> outer_;
    std::unique_ptr<stream_filter> inner_;
    std::string name_;
    unique_function<void()> opened_;
    buffer between_;      // the proxy's TLS taken off, the server's still on
    error outer_failed_;  // that TLS, behind what is in between_
    error refused_;       // to be told once what came before has been taken
};

}  // namespace wire::detail
