// SOCKS5 (RFC 1928) with user and password (RFC 1929), from the client's side: the conversation
// that opens a tunnel.
//
//     state      awaits                                   then
//     method     how the client is to show who it is      password, where the proxy asks for one;
//                                                         else reply
//     password   whether user and password are right      reply
//     reply      whether the destination is connected     open
//     open       -                                        the bytes are the destination's
//
// Sans-IO: an answer is understood the same however it is cut, and whatever came before it was
// asked for. Nothing of it is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "proxy.hpp"
#include "wire/base/buffer.hpp"
#include "wire/base/result.hpp"

namespace wire::detail {

class socks5_tunnel {
public:
    // The user and password are those of `proxy`; its other parts are not looked at. `host`: a
    // name, which the proxy looks up, or an address literal without brackets.
    socks5_tunnel(const proxy_server& proxy, std::string host, std::uint16_t port);

    // Appends the first message. Called once, before receive(). errc::bad_url for a name of more
    // than 255 bytes, which SOCKS5 cannot carry.
    result<void> begin(buffer& out);
    // Appends what is to be sent next, if anything. True when the tunnel is open, false while more
    // bytes are needed. errc::proxy_failed when the proxy refuses, sends something that is not
    // SOCKS5, or more than its answers; receive() must not be called again then.
    result<bool> receive(std::span<const char> bytes, buffer& out);
    // After such an error: the proxy could not reach this destination, and may reach another
    // address of the same server.
    bool is_unreachable() const noexcept { return unreachable_; }

private:
    enum class state : std::uint8_t { method, password, reply, open };

    // Each takes one message from the front of held_: its length; 0 while bytes are missing.
    result<std::size_t> take_method(buffer& out);
    result<std::size_t> take_verdict(buffer& out);
    result<std::size_t> take_reply();
    void ask(buffer& out);
    std::uint8_t byte(std::size_t i) const noexcept {
        return static_cast<std::uint8_t>(held_.data()[i]);
    }

    std::string user_;  // empty: none
    std::string password_;
    std::string host_;
    std::uint16_t port_;
    buffer held_;
    state state_ = state::method;
    bool unreachable_ = false;
};

}  // namespace wire::detail
