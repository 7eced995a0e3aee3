// A TLS 1.3 connection after its handshake, without OpenSSL's: it holds two keys instead of some 15
// KiB, no buffers while nothing is under way, and takes half the work for a small message. RFC 8446
// sections 4.6, 5 and 6. record_stream.cpp has its states.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "record_key.hpp"
#include "wire/loop/stream_filter.hpp"

namespace wire::tls::detail {

// Takes the records of a client's connection that hold tickets (NewSessionTicket, RFC 8446 section
// 4.6.1). Only what made the handshake can: each ticket's key comes out of it.
class ticket_reader {
public:
    // As they came, in their order, all before the first that holds anything else.
    virtual void take_tickets(std::span<const char> record) noexcept = 0;
    // From here on what comes is not told.
    virtual void no_more_tickets() noexcept = 0;

protected:
    ~ticket_reader() = default;
};

class record_stream {
public:
    // In a row without a byte for the user: empty ones, tickets, new keys.
    static constexpr unsigned max_idle_records = 32;
    // With one key; AES-GCM is safe for 2^24.5 (RFC 8446 section 5.5).
    static constexpr std::uint64_t max_records_per_key = std::uint64_t{1} << 24;

    // `tickets`: null when none are wanted; else it must live as long.
    record_stream(record_key ours, record_key theirs, bool client, ticket_reader* tickets) noexcept;

    // As stream_filter's.
    result<stream_filter::step> receive(std::span<const char> raw, std::span<char> plain,
                                        buffer& to_peer);
    result<void> send(std::string_view plain, buffer& to_peer);
    void finish(buffer& to_peer) noexcept;
    bool has_ended() const noexcept { return ended_; }

private:
    // Why a record was refused.
    struct refusal {
        alert tell = alert::internal_error;  // to the peer
        std::string text;                    // to the user; empty: it was not refused
    };

    bool complete(std::span<const char>& raw, std::span<const char>& record);
    refusal take_record(std::span<const char> record, std::span<char> room, std::size_t& produced,
                        buffer& to_peer);
    refusal take_alert(std::span<const char> what);
    refusal take_messages(std::span<const char> what, std::span<const char> record,
                          buffer& to_peer);
    refusal take_new_key(char request, buffer& to_peer);
    bool renew(buffer& to_peer);
    error refuse(buffer& to_peer);
    void end_tickets() noexcept;
    bool in_message() const noexcept { return head_bytes_ > 0 || message_left_ > 0; }

    record_key ours_;
    record_key theirs_;
    ticket_reader* tickets_;          // null when none are waited for any more
    buffer partial_;                  // the beginning of a record
    buffer rest_;                     // opened, but there was no room for it
    refusal refused_;                 // to be told once all before it has been taken
    std::uint32_t message_left_ = 0;  // of a handshake message that goes on in the next record
    std::array<char, 4> head_{};      // of the next such message
    std::uint8_t head_bytes_ = 0;     // of it that are here
    std::uint8_t idle_records_ = 0;
    bool client_;
    bool ended_ = false;
};

}  // namespace wire::tls::detail
