// What stands between a stream and its socket when the bytes on the way are not those of the user:
// TLS. It is sans-IO, turning bytes into bytes, and knows nothing of the loop; the stream does all
// receiving and sending.
//
//     state         is_open()  has_ended()   called then
//     handshake     false      false         begin() once, receive()
//     open          true       false         receive(), send(), finish() once
//     peer ended    true       true          send(), finish() once
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/detail/filter_state.hpp"

namespace wire {

// One for one connection: given to stream::set_filter() before the stream is attached or connects,
// or to stream::secure(); owned by the stream, destroyed when it closes. All calls come from the
// loop's thread and must not throw. After a failed call nothing but its destructor is called; what
// it had appended (an alert) is still sent if the socket takes it at once.
//
// `to_peer` is where bytes to send are appended; it may hold earlier ones, which it must leave
// alone.
class WIRE_EXPORT stream_filter : public detail::filter_state {
public:
    // What one call of receive() did, in bytes.
    struct step {
        std::size_t consumed = 0;  // of `raw`
        std::size_t produced = 0;  // at the front of `plain`
        bool again = false;        // there is more to tell, though nothing more may have come
    };

    stream_filter() noexcept = default;
    stream_filter(const stream_filter&) = delete;
    stream_filter& operator=(const stream_filter&) = delete;
    virtual ~stream_filter() = default;

    // The TCP connection stands. Appends what has to be said first, if anything. A failure fails
    // the connection.
    virtual result<void> begin(buffer& to_peer) = 0;

    // Bytes from the peer, however cut; appends what has to be answered. Returns with less than all
    // of `raw` used up only when `plain` is full, when the handshake has just been completed,
    // before a failure, and at the end. When `plain` was filled there may be more: it is called
    // again, perhaps without anything new, and so it is when the step says `again`: after the last
    // bytes before a failure, say. `raw` and `plain` are valid for this call alone; neither
    // overlaps the other. A failure (errc::tls_failed, say) fails the connection.
    virtual result<step> receive(std::span<const char> raw, std::span<char> plain,
                                 buffer& to_peer) = 0;

    // Appends all of `plain`, 64 KiB at most, in the form in which it travels. Only while
    // is_open(). A failure fails the connection.
    virtual result<void> send(std::string_view plain, buffer& to_peer) = 0;

    // Appends the notice that no more will be sent. Once, and only while is_open().
    virtual void finish(buffer& to_peer) noexcept = 0;

    // The handshake is complete: stream::on_open() follows. Never false again.
    virtual bool is_open() const noexcept = 0;
    // The peer has said, so that nobody else could have, that it will send no more.
    virtual bool has_ended() const noexcept = 0;
};

}  // namespace wire
