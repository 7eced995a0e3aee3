#include "engine/ws_connection.hpp"

#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/repeats.hpp"
#include "plan/count_reply.hpp"
#include "plan/deflater.hpp"
#include "wire/proto/utf8.hpp"
#include "wire/proto/ws_handshake.hpp"

namespace wireload {
namespace {

using wire::ws::opcode;

constexpr std::size_t most_unsent_for_pong = 16 * 1024;

// The values in a broadcast message are those of this connection, whoever sends it: every
// subscriber has to know them.
constexpr std::uint32_t broadcast_values = 0;

}  // namespace

ws_connection::unfinished::unfinished(connection_host& host, int agreed_bits)
    : reader(wire::ws::role::client, host.the_plan().limits,
             agreed_bits == 0 ? nullptr
                              : &deflate.emplace(wire::ws::role::client,
                                                 deflater::agreement(agreed_bits), deflate_asked,
                                                 host.deflating().pool(), host.the_plan().limits)) {
}

wire::ws::mask_key ws_connection::key_for(std::uint64_t number) const {
    const auto bits = static_cast<std::uint32_t>(mix(secret_ + number * golden_gamma));
    wire::ws::mask_key key;
    std::memcpy(key.data(), &bits, key.size());
    return key;
}

std::string ws_connection::handshake_key() const {
    std::array<std::uint8_t, 16> random{};
    const std::uint64_t words[] = {mix(~secret_), mix(secret_ ^ 0x5851f42d4c957f2dU)};
    std::memcpy(random.data(), words, random.size());
    return wire::ws::make_key(random);
}

void ws_connection::begin_session() {
    const plan& p = host_.the_plan();
    const target& t = p.target_of(number());
    secret_ = host_.random();
    enter_handshake();
    // Target, host and fields were checked when the command line was read.
    (void)wire::ws::write_upgrade_request(out(), t.url.target, p.upgrade_authority(t.url),
                                          handshake_key(), p.upgrade_fields);
    host_.window().count_out(unsent());
    flush_later();
}

std::size_t ws_connection::append_request(wire::buffer& out, std::uint64_t counter,
                                          std::size_t offset, std::size_t most) {
    const plan& p = host_.the_plan();
    if (agreed_bits_ != 0) [[unlikely]] {
        deflater& d = host_.deflating();
        const std::size_t reached =
            d.append_frame(out, number(), counter, agreed_bits_, key_for(counter), offset, most);
        if (offset == 0)
            host_.window().count_payload_out(
                p.message.content().size(p.values_of(number(), counter)), d.compressed());
        return reached;
    }
    return p.message.append_frame(out, p.values_of(number(), counter), key_for(counter), offset,
                                  most);
}

void ws_connection::append_pong(std::string_view data) {
    wire::buffer& bytes = out();
    const std::size_t before = bytes.size();
    wire::ws::append_frame(bytes, opcode::pong, data, key_for(host_.random()));
    host_.window().count_out(bytes.size() - before);
}

void ws_connection::append_goodbye(wire::buffer& out) {
    wire::ws::append_close(out, wire::ws::close_code::normal, {}, key_for(0));
}

void ws_connection::answer_close(std::uint16_t code) {
    if (unsent() != 0) return;  // not to one who takes nothing
    finish_writing();
    wire::buffer& bytes = out();
    const std::size_t before = bytes.size();
    wire::ws::append_close(bytes, code, {}, key_for(0));
    host_.window().count_out(bytes.size() - before);
    (void)flush();
}

std::string ws_connection::sent_text(std::uint64_t counter) const {
    const plan& p = host_.the_plan();
    return p.message.content().text(
        p.values_of(p.asked.broadcast ? broadcast_values : number(), counter));
}

std::string ws_connection::expected_text(std::uint64_t counter) const {
    switch (host_.the_plan().asked.check) {
    case reply_check::echo: return "the same message";
    case reply_check::count: return fmt::format("JSON with \"c\":{} and a number \"ts\"", counter);
    case reply_check::none: break;
    }
    return "a message";
}

std::string ws_connection::expected_type(opcode received) const {
    const opcode sent = host_.the_plan().message.op();
    if (received == sent || !host_.wants_report()) return {};
    return fmt::format("the same, as a {} message", sent == opcode::text ? "text" : "binary");
}

void ws_connection::on_data(std::span<char> in) {
    const nanos at = reply_time(in.size(), unfinished_ != nullptr);
    host_.window().count_in(in.size(), at);
    if (is_handshaking()) {
        in = take_handshake(in);
        if (in.empty() || !is_open() || is_handshaking()) return;
    }
    reply_begins();
    if (unfinished_ == nullptr && agreed_bits_ == 0) in = take_whole_messages(in, at);
    if (is_open() && !in.empty()) take_pieces(in, at);
}

std::span<char> ws_connection::take_handshake(std::span<char> in) {
    if (unfinished_ == nullptr) unfinished_ = std::make_unique<unfinished>(host_, 0);
    std::string& bytes = unfinished_->bytes;
    const std::size_t before = bytes.size();
    bytes.append(in.data(), in.size());
    wire::http::response_parser parser(host_.the_plan().limits);
    wire::http::response_head& head = host_.head_scratch();
    std::string_view rest = bytes;
    while (true) {
        const wire::http::step step = parser.parse(rest, head);
        rest.remove_prefix(step.consumed);
        if (step.what == wire::http::event::need_more) return {};
        if (step.what == wire::http::event::error) {
            fail(error_kind::connect_failed,
                 fmt::format("{}: {}", wire::to_string(step.error), excerpt(bytes)));
            return {};
        }
        if (step.what == wire::http::event::head) break;
    }
    const options& asked = host_.the_plan().asked;
    const std::string& offered = asked.subprotocols;
    std::optional<wire::ws::deflate_agreement> deflate;
    const auto accepted = wire::ws::check_upgrade_response(
        head, handshake_key(), offered, asked.deflate ? &deflate_asked : nullptr, &deflate);
    if (!accepted) {
        fail(error_kind::connect_failed,
             fmt::format("{}: {}", accepted.error().message, excerpt(bytes)));
        return {};
    }
    if (!offered.empty() && !head.headers.find("Sec-WebSocket-Protocol")) {
        fail(error_kind::connect_failed,
             fmt::format("an answer that chooses none of the subprotocols {}: {}", offered,
                         excerpt(bytes)));
        return {};
    }
    agreed_bits_ = (deflate ? deflate->client.window_bits : 0) & 15U;
    if (asked.deflate) host_.meter().count_deflate(deflate.has_value());
    const std::size_t used = bytes.size() - rest.size() - before;  // the head ended in this read
    unfinished_.reset();
    session_ready();
    return in.subspan(used);
}

std::span<char> ws_connection::take_whole_messages(std::span<char> in, nanos at) {
    const std::string& echo = host_.the_plan().echo_frame;
    while (!in.empty()) {
        if (!echo.empty()) {
            const std::size_t n = count_repeats({in.data(), in.size()}, echo, alike_at_most());
            if (n != 0) {
                in = in.subspan(n * echo.size());
                answered_oldest(static_cast<std::uint32_t>(n), at);
                next_request(true);
                continue;
            }
        }
        const auto step =
            wire::ws::read_frame_header({in.data(), in.size()}, wire::ws::role::client);
        const auto& frame = step.header;
        const bool whole = step.error == wire::errc::none && step.size != 0 && frame.fin &&
                           frame.length <= in.size() - step.size &&
                           (frame.op == opcode::text || frame.op == opcode::binary) &&
                           frame.length <= host_.the_plan().limits.max_message_bytes;
        if (!whole) break;  // the reader has the rest of the rules
        const std::string_view text(in.data() + step.size, static_cast<std::size_t>(frame.length));
        in = in.subspan(step.size + text.size());
        if (frame.op == opcode::text && !wire::is_utf8(text)) {
            fail(error_kind::protocol,
                 fmt::format("a text message that is not UTF-8: {}", excerpt(text)));
            return {};
        }
        if (!on_message(frame.op, text, at)) return {};
    }
    return in;
}

void ws_connection::take_pieces(std::span<char> in, nanos at) {
    // Held here: what is called below may end in forget().
    std::unique_ptr<unfinished> held = std::move(unfinished_);
    if (held == nullptr) held = std::make_unique<unfinished>(host_, int{agreed_bits_});
    if (!held->bytes.empty()) {
        held->bytes.append(in.data(), in.size());
        in = held->bytes;
    }
    bool between = false;
    while (true) {
        const wire::ws::step step = held->reader.read(in);
        in = in.subspan(step.consumed);
        if (step.what == wire::ws::event::need_more) {
            // Else it has the beginning of another message.
            between = between && step.consumed == 0;
            break;
        }
        between = false;
        switch (step.what) {
        case wire::ws::event::message:
            if (agreed_bits_ != 0) host_.window().count_payload_in(step.data.size());
            if (!on_message(step.op, step.data, at)) return;
            between = true;
            break;
        case wire::ws::event::ping:
            // Not to one who takes no answers: a pong for the latest ping is enough (RFC 6455
            // section 5.5.3).
            if (unsent() > most_unsent_for_pong) break;
            host_.count_ping();
            finish_writing();
            append_pong(step.data);
            // At once: what waits to be sent would keep the next message waiting. On failure
            // on_failure() follows.
            (void)flush();
            break;
        case wire::ws::event::pong: break;
        case wire::ws::event::close:
            answer_close(step.code);
            fail(error_kind::closed_early,
                 fmt::format("a close frame, code {}, reason \"{}\"", step.code, step.data), false);
            return;
        default:
            fail(error_kind::protocol, fmt::format("{}: {}", wire::to_string(step.error),
                                                   excerpt({in.data(), in.size()})));
            return;
        }
    }
    if (between && in.empty()) return;  // back to messages that come whole
    std::string left(in.data(), in.size());
    held->bytes = std::move(left);
    unfinished_ = std::move(held);
}

bool ws_connection::find_echoed(std::string_view text, std::uint64_t& counter) const {
    const plan& p = host_.the_plan();
    const text_template& sent = p.message.content();
    if (sent.equals(text, p.values_of(number(), counter))) return true;
    if (in_flight() == 1 || sent.is_constant()) return false;
    // A server with several threads may answer out of order.
    if (const std::uint64_t said = sent.counter_in(text); said != 0) {
        if (!is_in_flight(said) || !sent.equals(text, p.values_of(number(), said))) return false;
        counter = said;
        return true;
    }
    const std::uint64_t first = counter;
    for (std::uint64_t n = first + 1; n - first <= ring_mask(); ++n) {
        if (!is_in_flight(n) || !sent.equals(text, p.values_of(number(), n))) continue;
        counter = n;
        return true;
    }
    return false;
}

bool ws_connection::publish(std::uint64_t n) {
    const plan& p = host_.the_plan();
    wire::buffer& bytes = out();
    const std::size_t before = bytes.size();
    (void)p.message.append_frame(bytes, p.values_of(broadcast_values, n), key_for(n), 0, SIZE_MAX);
    host_.window().count_out(bytes.size() - before);
    return flush();  // on failure on_failure() follows
}

void ws_connection::on_foreign_message(opcode op, std::string_view text, nanos at) {
    const plan& p = host_.the_plan();
    if (p.asked.idle) {
        host_.count_unasked();
        return;
    }
    if (!host_.loading()) return;
    broadcast_ledger& ledger = *host_.broadcasts();
    const text_template& sent = p.message.content();
    const std::uint64_t n = sent.counter_in(text);
    const bool known = op == p.message.op() && ledger.was_sent(n) &&
                       sent.equals(text, p.values_of(broadcast_values, n));
    if (known && !is_in_flight(n)) {
        ++host_.window().broadcasts().doubled;
        came_unasked(at, text, "each message once");
        return;
    }
    if (!known && in_flight() == 0) {
        came_unasked(at, text, "nothing, until a message is broadcast");
        return;
    }
    const std::uint64_t counter = known ? n : oldest();
    bool last = false;
    if (!known) {
        answered_wrongly(counter, at, error_kind::bad_body, text, expected_type(op));
        last = ledger.missed(counter);
    } else if (n != oldest()) {
        ++host_.window().broadcasts().reordered;
        answered_wrongly(
            n, at, error_kind::bad_body, text,
            host_.wants_report() ? printable(sent_text(oldest())) + " before it" : std::string());
        last = ledger.missed(n);
    } else if (const auto failed = p.message_checks.message(text)) {
        answered_wrongly(n, at, failed->as_error(), text,
                         host_.wants_report() ? p.message_checks.expected(*failed) : std::string());
        last = ledger.missed(n);
    } else {
        answered(n, at);
        last = ledger.delivered(n, at);
    }
    if (last) host_.at_iteration_end();
}

bool ws_connection::on_message(opcode op, std::string_view text, nanos at) {
    const plan& p = host_.the_plan();
    if (!p.exchanges) {
        on_foreign_message(op, text, at);
        return true;
    }
    if (in_flight() == 0) {
        fail(error_kind::bad_body,
             fmt::format("a message that answers none of ours: {}", excerpt(text)));
        return false;
    }
    std::uint64_t counter = oldest();
    bool right = true;
    if (p.asked.check == reply_check::echo) {
        right = op == p.message.op() && find_echoed(text, counter);
    } else if (p.asked.check == reply_check::count) {
        // A server with several threads may answer out of order: the number says to what.
        const auto said = parse_count_reply(text);
        right = said && *said != 0 && is_in_flight(*said);
        if (right) counter = *said;
    }
    if (!right) {
        answered_wrongly(counter, at, error_kind::bad_body, text,
                         p.asked.check == reply_check::echo ? expected_type(op) : std::string());
    } else if (const auto failed = p.message_checks.message(text)) {
        answered_wrongly(counter, at, failed->as_error(), text,
                         host_.wants_report() ? p.message_checks.expected(*failed) : std::string());
    } else {
        answered(counter, at);
    }
    const bool keep = may_stay();
    next_request(keep);
    return keep;
}

void ws_connection::on_end() {
    fail(is_handshaking() ? error_kind::connect_failed : error_kind::closed_early,
         "the connection's end", false);
}

}  // namespace wireload
