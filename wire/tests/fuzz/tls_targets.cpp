// The records of TLS 1.3 as record_layer::wire takes them, from a peer that has the keys: what it
// seals, and what it sends beside that, is the input's.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness.hpp"
#include "targets.hpp"
#include "tls/record_stream.hpp"

namespace wire::fuzz {

namespace {

using tls::detail::cipher_suite;
using tls::detail::content;
using tls::detail::record_key;
using tls::detail::record_stream;

constexpr std::size_t most_raw_bytes = 60'000;

// Steps of the input with a meaning of their own. Any other is the type of a record to be sealed.
constexpr unsigned char step_new_key = 0xfb;   // KeyUpdate, and the next key
constexpr unsigned char step_long = 0xfc;      // application data, 67 times as long
constexpr unsigned char step_damaged = 0xfe;   // application data with a bit that is wrong
constexpr unsigned char step_unsealed = 0xff;  // bytes as they are

struct notes final : tls::detail::ticket_reader {
    std::string records;
    int ends = 0;
    void take_tickets(std::span<const char> record) noexcept override {
        records.append(record.data(), record.size());
    }
    void no_more_tickets() noexcept override { ++ends; }
};

// Which end is tested, and with which cipher.
struct setting {
    explicit setting(unsigned char chosen)
        : client(chosen % 2 != 0),
          suite(*cipher_suite::find(static_cast<std::uint16_t>(0x1301 + chosen / 2 % 3))) {}
    record_key key(bool of_client, bool seals) const {
        const std::vector<std::uint8_t> secret(suite.secret_bytes, of_client ? 'c' : 's');
        auto made = record_key::create(suite, secret, seals, 0);
        require(made.has_value(), "no key");
        return *std::move(made);
    }
    record_stream end(bool of_client, tls::detail::ticket_reader* tickets) const {
        return {key(of_client, true), key(!of_client, false), of_client, tickets};
    }
    bool client;
    const cipher_suite& suite;
};

// What the peer sends, and the data in it.
struct script {
    std::string raw;
    std::string data;  // of all good records, also behind what ends the connection
    std::size_t records = 0;
    bool data_alone = true;
};

// The type and the content that a record has for who opens it: the last byte that is not zero is
// the type (RFC 8446 section 5.4).
void note_data(unsigned char type, std::string inner, script& s) {
    if (type == 0) {
        while (!inner.empty() && inner.back() == 0) inner.pop_back();
        if (inner.empty()) {
            s.data_alone = false;
            return;
        }
        type = static_cast<unsigned char>(inner.back());
        inner.pop_back();
    }
    if (type == static_cast<unsigned char>(content::application_data)) s.data += inner;
    s.data_alone = s.data_alone && type == static_cast<unsigned char>(content::application_data) &&
                   !inner.empty();
}

script write_script(std::string_view input, const setting& with) {
    script s;
    record_key key = with.key(!with.client, true);
    bool sound = true;  // what follows a damaged record, or bytes between records, is never data
    while (input.size() >= 2 && s.raw.size() < most_raw_bytes) {
        const auto kind = static_cast<unsigned char>(input[0]);
        const auto size = static_cast<unsigned char>(input[1]);
        const std::string what(input.substr(2, size));
        input.remove_prefix(2 + what.size());
        if (kind == step_unsealed) {
            s.raw += what;
            sound = sound && what.empty();
            continue;
        }
        std::string inner = what;
        auto type = content::application_data;
        if (kind == step_new_key) {
            type = content::handshake;
            inner = std::string("\x18\0\0\1", 4) + static_cast<char>(size % 3);
        } else if (kind == step_long) {
            inner.assign(std::min<std::size_t>(size * 67U, tls::detail::max_record_plain), 'l');
        } else if (kind != step_damaged) {
            type = static_cast<content>(kind);
        }
        buffer sealed;
        require(key.seal(type, inner, sealed), "a record could not be sealed");
        ++s.records;
        if (kind == step_damaged) {
            sealed.bytes()[sealed.size() - 1 - size % (sealed.size() - 5)] ^= 1;
            sound = false;
        }
        s.raw += sealed.view();
        if (sound) note_data(static_cast<unsigned char>(type), inner, s);
        if (kind == step_new_key) require(key.update(), "no new key");
    }
    s.data_alone = s.data_alone && sound;
    return s;
}

// What the end says of all pieces, with room for `room` bytes of data at a time.
std::string said(const testing::pieces& cut, std::size_t room, const script& s,
                 const setting& with) {
    notes tickets;
    record_stream end = with.end(with.client, with.client ? &tickets : nullptr);
    buffer to_peer;
    std::string heard;
    std::string how = "open";
    const auto take = [&](std::string_view piece) {
        const testing::exact_copy copy(piece);
        std::span<const char> left(std::string_view(copy).data(), copy.size());
        std::vector<char> plain(room);
        for (;;) {
            const auto step = end.receive(left, plain, to_peer);
            if (!step) {
                how = step.error().message;
                return false;
            }
            require(step->consumed <= left.size(), "more used up than there was");
            require(step->produced <= room, "more data than room");
            heard.append(plain.data(), step->produced);
            left = left.subspan(step->consumed);
            if (end.has_ended()) {
                how = "ended";
                return false;
            }
            if (left.empty() && step->produced < room) return true;
            require(step->consumed + step->produced > 0, "no progress");
        }
    };
    for (const auto piece : cut)
        if (!take(piece)) break;

    require(std::string_view(s.data).starts_with(heard), "data that nobody sent");
    if (s.data_alone) require(how == "open" && heard == s.data, "data is missing");
    require(tickets.ends <= 1, "the end of the tickets, twice");
    // A new key for each that the peer asked for, and an alert.
    require(to_peer.size() <= 27 * s.records + 24, "more answered than there was to answer");
    const std::string answer(to_peer.view());
    record_stream peer = with.end(!with.client, nullptr);
    std::vector<char> plain(answer.size() + 1);
    buffer none;
    const auto heard_by_peer = peer.receive(to_peer.bytes(), plain, none);
    // It may have asked for more new keys in a row than it bears itself.
    const std::string why = heard_by_peer ? std::string() : heard_by_peer.error().message;
    require(heard_by_peer || why.starts_with("TLS: the peer's alert") ||
                why == "TLS: too many records without data",
            "an answer that the peer cannot read");
    return heard + "|" + how + "|" + answer + "|" + tickets.records + "|" +
           std::to_string(tickets.ends);
}

}  // namespace

void tls_records(std::string_view input) {
    if (input.empty()) return;
    const auto chosen = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    const setting with(chosen);
    const script s = write_script(input, with);
    const std::string_view raw = s.raw;
    const std::string whole = said({raw}, 70'000, s, with);
    const std::size_t cut = raw.empty() ? 0 : chosen * 257U % raw.size();
    require(said({raw.substr(0, cut), raw.substr(cut)}, 1 + chosen * 100U, s, with) == whole,
            "two pieces differ from the whole");
    testing::pieces small;
    const std::size_t piece = raw.size() <= 2'000 ? 1 : 1 + raw.size() / 100;
    for (std::size_t i = 0; i < raw.size(); i += piece) small.push_back(raw.substr(i, piece));
    require(said(small, 1'000, s, with) == whole, "small pieces differ from the whole");
}

}  // namespace wire::fuzz
