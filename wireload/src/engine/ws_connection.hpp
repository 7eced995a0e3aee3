// WebSocket messages and the checking of their replies.
//
// Received bytes are handled in this order, on the worker's thread:
//
//   state         bytes received                 are                               kept
//   -----------   ----------------------------   -------------------------------   ----------
//   handshaking   the reply to the handshake     gathered: take_handshake()        unfinished
//   open          whole messages, one frame      compared with the one right       nothing
//                 each, not compressed           reply, or checked where they
//                                                lie: take_whole_messages()
//   open          parts, control frames,         read by wire's message reader:    unfinished
//                 compressed messages            take_pieces()
//
// A close frame, a broken rule or an answer to nothing fails the connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/connection.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/proto/ws_deflate.hpp"
#include "wire/proto/ws_reader.hpp"

namespace wireload {

class ws_connection final : public connection {
public:
    using connection::connection;

    // Sends message `n` to be broadcast, see publisher.hpp. False when the connection is lost with
    // it.
    bool publish(std::uint64_t n);

private:
    // An incomplete handshake reply or message. Most messages come whole and in
    // one frame: they are checked where they were received, and none of this exists. Compressed
    // ones need it while they are read.
    struct unfinished {
        // `agreed_bits`: as in connection.
        unfinished(connection_host& host, int agreed_bits);
        std::optional<wire::ws::permessage_deflate> deflate;
        wire::ws::message_reader reader;
        std::string bytes;  // not used up
    };

    void begin_session() override;
    std::size_t append_request(wire::buffer& out, std::uint64_t counter, std::size_t offset,
                               std::size_t most) override;
    std::string sent_text(std::uint64_t counter) const override;
    std::string expected_text(std::uint64_t counter) const override;
    // For a report of an echo that came as text and not as binary, or the other way round; else
    // empty.
    std::string expected_type(wire::ws::opcode received) const;
    void forget() override { unfinished_.reset(); }
    void append_goodbye(wire::buffer& out) override;
    void append_pong(std::string_view data);
    // Says the same code back (RFC 6455 section 5.5.1); fail() follows.
    void answer_close(std::uint16_t code);

    void on_data(std::span<char> bytes) override;
    void on_end() override;

    // Each takes what it can use from the front and returns the rest; the connection may be gone
    // afterwards.
    std::span<char> take_handshake(std::span<char> in);
    std::span<char> take_whole_messages(std::span<char> in, nanos at);
    void take_pieces(std::span<char> in, nanos at);
    // Finds the message in flight that `text` repeats, looking at `counter` first.
    bool find_echoed(std::string_view text, std::uint64_t& counter) const;
    // One that answers none of this connection's own: broadcast, or unasked.
    void on_foreign_message(wire::ws::opcode op, std::string_view text, nanos at);
    // False when the connection is gone or leads a new life.
    bool on_message(wire::ws::opcode op, std::string_view text, nanos at);

    wire::ws::mask_key key_for(std::uint64_t number) const;
    std::string handshake_key() const;

    std::unique_ptr<unfinished> unfinished_;
    std::uint64_t secret_ = 0;  // keys are drawn from it, so that none has to be kept
};

}  // namespace wireload
