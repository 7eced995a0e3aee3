// TLS 1.3 after the handshake: from records to data and back, alerts, tickets, new keys.
//
//   received                     held in              until
//   part of a record             partial_             the rest of it came
//   data that `plain` had no     rest_                later calls have handed it over; no record is
//   room for                                          opened before
//   part of a handshake message  head_ (its type and  the message is complete; records of other
//                                length),             types are refused meanwhile
//                                message_left_
//   a record that is refused     refused_             all data before it was handed over: then the
//                                                     alert is sent and the error returned
//   close_notify                 ended_               -
//
//   type of record     taken by          leads to
//   application_data   take_record()     bytes for the user; ends the wait for tickets
//   alert              take_alert()      ended_ (close_notify), nothing (user_canceled), or an
//   error handshake          take_messages()   a ticket (client only), or a new key (KeyUpdate);
//   others
//                                        are refused
//   any other          -                 refused
//
// max_idle_records bounds records without data in a row; max_records_per_key makes send() change
// our key. Owner: the engine. Thread: the stream's.
#include "record_stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "alerts.hpp"

namespace wire::tls::detail {

namespace {

// RFC 8446 section 4.
constexpr char new_session_ticket = 4;
constexpr char key_update = 24;
// Two lives, a nonce, a ticket and extensions at their longest (RFC 8446 section 4.6.1).
constexpr std::uint32_t max_ticket_message = 8 + 256 + 65'537 + 65'536;

std::size_t octet(char c) noexcept { return static_cast<unsigned char>(c); }

bool is_sealed(std::span<const char> header) noexcept {
    return header[0] == static_cast<char>(content::application_data);
}
std::size_t bytes_behind(std::span<const char> header) noexcept {
    return octet(header[3]) << 8 | octet(header[4]);
}

}  // namespace

record_stream::record_stream(record_key ours, record_key theirs, bool client,
                             ticket_reader* tickets) noexcept
    : ours_(std::move(ours)), theirs_(std::move(theirs)), tickets_(tickets), client_(client) {}

// Takes the next record off the front of `raw`, or what there is of it into partial_. False when it
// is not all here. A header alone tells whether the rest is worth waiting for: what it announces is
// bounded.
bool record_stream::complete(std::span<const char>& raw, std::span<const char>& record) {
    const auto wanted = [&](std::span<const char> from) {
        if (from.size() < record_header_bytes) return record_header_bytes;
        // One that will be refused for its header needs no more than that.
        const std::size_t behind = bytes_behind(from);
        const bool good = is_sealed(from) && behind <= max_record_sealed;
        return good ? record_header_bytes + behind : record_header_bytes;
    };
    if (partial_.empty()) {
        const std::size_t size = wanted(raw);
        if (raw.size() >= size) {
            record = raw.first(size);
            raw = raw.subspan(size);
            return true;
        }
        partial_.append({raw.data(), raw.size()});
        raw = {};
        return false;
    }
    for (std::size_t size = wanted(partial_.bytes()); partial_.size() < size;
         size = wanted(partial_.bytes())) {
        if (raw.empty()) return false;
        const std::size_t n = std::min(size - partial_.size(), raw.size());
        partial_.append({raw.data(), n});
        raw = raw.subspan(n);
    }
    record = partial_.bytes();
    return true;
}

result<stream_filter::step> record_stream::receive(std::span<const char> raw, std::span<char> plain,
                                                   buffer& to_peer) {
    stream_filter::step s;
    const auto whole = raw;
    if (!rest_.empty()) {
        s.produced = std::min(rest_.size(), plain.size());
        std::memcpy(plain.data(), rest_.data(), s.produced);
        rest_.consume(s.produced);
        if (!rest_.empty()) return s;
        rest_.release();
        if (!partial_.empty()) return s;
    }
    std::span<const char> record;
    while (s.produced < plain.size() && !ended_ && refused_.text.empty() && complete(raw, record)) {
        refused_ = take_record(record, plain.subspan(s.produced), s.produced, to_peer);
        if (!partial_.empty()) partial_.release();
    }
    if (!refused_.text.empty()) {
        if (s.produced == 0) return refuse(to_peer);
        // What came before it is good. The record is given back, so that there is a next call to
        // say so.
        s.consumed = static_cast<std::size_t>(record.data() - whole.data());
        return s;
    }
    s.consumed = whole.size() - raw.size();
    return s;
}

record_stream::refusal record_stream::take_record(std::span<const char> record,
                                                  std::span<char> room, std::size_t& produced,
                                                  buffer& to_peer) {
    // A new handshake in plain text, an alert that anybody could have sent: nothing but sealed
    // records come now.
    if (!is_sealed(record)) return {alert::unexpected_message, "a record that is not encrypted"};
    const std::size_t behind = bytes_behind(record);
    if (behind > max_record_sealed) return {alert::record_overflow, "a record is too long"};
    if (behind <= record_tag_bytes) return {alert::bad_record_mac, "a record is too short"};
    const std::size_t most = behind - record_tag_bytes;
    const bool fits = most <= room.size();
    char* const to = fits ? room.data() : rest_.prepare(most).data();
    const auto got = theirs_.open(record, to);
    if (got.why == alert::bad_record_mac) return {*got.why, "decryption failed or bad record mac"};
    if (got.why) return {*got.why, "a record is too long or has no type"};
    const bool data = got.type == content::application_data;
    if (!data || got.size == 0) {
        if (++idle_records_ > max_idle_records)
            return {alert::unexpected_message, "too many records without data"};
    } else {
        idle_records_ = 0;
    }
    if (in_message() && got.type != content::handshake)
        return {alert::unexpected_message, "a record in the middle of a handshake message"};
    const std::span<const char> what(to, got.size);
    refusal refused;
    if (data) {
        end_tickets();
        const std::size_t n = std::min(got.size, room.size());
        if (!fits) {
            std::memcpy(room.data(), to, n);
            rest_.commit(got.size);
            rest_.consume(n);
        }
        produced += n;
    } else if (got.type == content::alert) {
        refused = take_alert(what);
    } else if (got.type == content::handshake) {
        refused = take_messages(what, record, to_peer);
    } else {
        refused = {alert::unexpected_message, "a record of a type that does not belong here"};
    }
    if (!fits && rest_.empty()) rest_.release();
    return refused;
}

record_stream::refusal record_stream::take_alert(std::span<const char> what) {
    if (what.size() != 2) return {alert::decode_error, "an alert that is not one"};
    const auto why = static_cast<alert>(what[1]);
    if (why == alert::close_notify) {
        ended_ = true;
        return {};
    }
    // A notice of its end follows (RFC 8446 section 6.1).
    if (why == alert::user_canceled) return {};
    return {alert::close_notify,
            "the peer's alert: " + std::string(alert_name(static_cast<std::uint8_t>(what[1])))};
}

// Handshake messages, which need not begin or end with a record.
record_stream::refusal record_stream::take_messages(std::span<const char> what,
                                                    std::span<const char> record, buffer& to_peer) {
    if (what.empty()) return {alert::unexpected_message, "an empty handshake record"};
    while (!what.empty()) {
        if (message_left_ > 0) {
            const auto n =
                static_cast<std::uint32_t>(std::min<std::size_t>(message_left_, what.size()));
            message_left_ -= n;
            what = what.subspan(n);
            continue;
        }
        head_[head_bytes_++] = what.front();
        what = what.subspan(1);
        if (head_bytes_ < head_.size()) continue;
        head_bytes_ = 0;
        const auto size = static_cast<std::uint32_t>(octet(head_[1]) << 16 | octet(head_[2]) << 8 |
                                                     octet(head_[3]));
        if (head_[0] == key_update) {
            if (size != 1) return {alert::decode_error, "a malformed KeyUpdate"};
            // What follows it would be under the old key (RFC 8446 section 5.1).
            if (what.size() != 1)
                return {alert::unexpected_message, "a KeyUpdate that does not end its record"};
            return take_new_key(what.front(), to_peer);
        }
        if (!client_ || head_[0] != new_session_ticket)
            return {alert::unexpected_message, "a handshake message that does not belong here"};
        if (size > max_ticket_message) return {alert::decode_error, "a ticket is too long"};
        message_left_ = size;
    }
    if (tickets_ != nullptr) tickets_->take_tickets(record);
    return {};
}

record_stream::refusal record_stream::take_new_key(char request, buffer& to_peer) {
    if (request != 0 && request != 1) return {alert::illegal_parameter, "a malformed KeyUpdate"};
    end_tickets();  // what made the handshake does not know the new key
    if (!theirs_.update()) return {alert::internal_error, "no new key"};
    if (request == 1 && !renew(to_peer)) return {alert::internal_error, "no new key"};
    return {};
}

// Tells the peer that the next record is under the next key.
bool record_stream::renew(buffer& to_peer) {
    // And does not ask the same of it.
    static constexpr std::array<char, 5> message = {key_update, 0, 0, 1, 0};
    return ours_.seal(content::handshake, {message.data(), message.size()}, to_peer) &&
           ours_.update();
}

error record_stream::refuse(buffer& to_peer) {
    if (refused_.tell != alert::close_notify) {
        const std::array<char, 2> fatal = {2, static_cast<char>(refused_.tell)};
        ours_.seal(content::alert, {fatal.data(), fatal.size()}, to_peer);
    }
    return {errc::tls_failed, "TLS: " + refused_.text};
}

void record_stream::end_tickets() noexcept {
    if (tickets_ != nullptr) std::exchange(tickets_, nullptr)->no_more_tickets();
}

result<void> record_stream::send(std::string_view plain, buffer& to_peer) {
    while (!plain.empty()) {
        const auto piece = plain.substr(0, max_record_plain);
        if ((ours_.sequence() >= max_records_per_key && !renew(to_peer)) ||
            !ours_.seal(content::application_data, piece, to_peer)) {
            return error(errc::tls_failed, "TLS: a record could not be encrypted");
        }
        plain.remove_prefix(piece.size());
    }
    return {};
}

void record_stream::finish(buffer& to_peer) noexcept {
    static constexpr std::array<char, 2> notice = {1, static_cast<char>(alert::close_notify)};
    ours_.seal(content::alert, {notice.data(), notice.size()}, to_peer);
}

}  // namespace wire::tls::detail
