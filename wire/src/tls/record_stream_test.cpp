// Both ends in memory, with secrets that the test knows: what a peer sends is made here record by
// record.
#include "record_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hex.hpp"
#include "pieces.hpp"

namespace wire::tls::detail::record_stream_test {

constexpr std::uint16_t aes_128 = 0x1301;
constexpr std::uint16_t chacha = 0x1303;

// Takes notes instead of tickets.
struct notes final : ticket_reader {
    std::vector<std::string> records;
    int ends = 0;
    void take_tickets(std::span<const char> record) noexcept override {
        records.emplace_back(record.data(), record.size());
    }
    void no_more_tickets() noexcept override { ++ends; }
};

record_key key(std::uint16_t suite, char name, bool seals, std::uint64_t sequence = 0) {
    const cipher_suite& found = *cipher_suite::find(suite);
    const std::vector<std::uint8_t> secret(found.secret_bytes, static_cast<std::uint8_t>(name));
    return *record_key::create(found, secret, seals, sequence);
}

// One end as it is in use, and the other end's two keys in the test's hand.
struct records : ::testing::Test {
    notes tickets;
    record_stream client{key(aes_128, 'c', true), key(aes_128, 's', false), true, &tickets};
    record_stream server{key(aes_128, 's', true), key(aes_128, 'c', false), false, nullptr};
    record_key by_client = key(aes_128, 'c', true);
    record_key by_server = key(aes_128, 's', true);

    buffer answer;
    std::string heard;
    error failed;

    static std::string sealed(record_key& with, content type, std::string_view plain) {
        buffer out;
        EXPECT_TRUE(with.seal(type, plain, out));
        return std::string(out.view());
    }
    // False when it failed.
    bool take(record_stream& by, std::string_view raw, std::size_t room = 20'000) {
        const testing::exact_copy copy(raw);
        std::span<const char> left(std::string_view(copy).data(), raw.size());
        std::vector<char> plain(room);
        for (;;) {
            const auto s = by.receive(left, plain, answer);
            if (!s) {
                failed = s.error();
                return false;
            }
            heard.append(plain.data(), s->produced);
            left = left.subspan(s->consumed);
            if (s->produced < room) {
                EXPECT_TRUE(left.empty() || by.has_ended());
                return true;
            }
        }
    }
    // The alert that `by` has appended, of a stream that had sent nothing before.
    alert told(record_key opens) {
        const auto record = answer.bytes();
        if (record.size() != record_header_bytes + 2 + 1 + record_tag_bytes)
            return alert::close_notify;
        std::array<char, 3> plain{};
        const auto got = opens.open(record, plain.data());
        EXPECT_FALSE(got.why);
        EXPECT_EQ(got.type, content::alert);
        EXPECT_EQ(plain[0], 2);
        return static_cast<alert>(plain[1]);
    }
    void expect_refused_by_server(std::string_view raw, alert why, std::string_view text) {
        EXPECT_FALSE(take(server, raw));
        EXPECT_EQ(failed.code, errc::tls_failed);
        EXPECT_EQ(failed.message, "TLS: " + std::string(text));
        EXPECT_EQ(told(key(aes_128, 's', false)), why);
        EXPECT_EQ(heard, "");
    }
    void expect_refused_by_server(content type, std::string_view plain, alert why,
                                  std::string_view text) {
        expect_refused_by_server(sealed(by_client, type, plain), why, text);
    }
};

TEST(record_keys, the_example_of_rfc_8448) {
    // RFC 8448 section 3: "{client} send application_data record".
    const auto secret =
        testing::from_hex("9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5");
    const auto wanted = testing::from_hex(
        "17 03 03 00 43 a2 3f 70 54 b6 2c 94 d0 af fa fe 82 28 ba 55 cb ef ac ea 42 f9 14 aa 66 bc "
        "ab 3f 2b 98 19 "
        "a8 a5 b4 6b 39 5b d5 4a 9a 20 44 1e 2b 62 97 4e 1f 5a 62 92 a2 97 70 14 bd 1e 3d ea e6 3a "
        "ee bb 21 69 49 15 e4");
    std::string plain;
    for (char c = 0; c < 50; ++c) plain += c;
    const cipher_suite& suite = *cipher_suite::find(aes_128);
    auto seals = *record_key::create(suite, secret, true, 0);
    buffer out;
    ASSERT_TRUE(seals.seal(content::application_data, plain, out));
    EXPECT_TRUE(std::ranges::equal(out.view(), wanted, {}, {},
                                   [](std::uint8_t octet) { return static_cast<char>(octet); }));
    auto opens = *record_key::create(suite, secret, false, 0);
    std::string back(51, '\0');
    const auto got = opens.open(out.bytes(), back.data());
    EXPECT_FALSE(got.why);
    EXPECT_EQ(got.size, 50U);
    EXPECT_EQ(back.substr(0, 50), plain);
    // "{client} send alert record".
    const auto notice = testing::from_hex(
        "17 03 03 00 13 c9 87 27 60 65 56 66 b7 4d 7f f1 15 3e fd 6d b6 d0 b0 e3");
    out.clear();
    ASSERT_TRUE(seals.seal(content::alert, std::string_view("\x01\x00", 2), out));
    EXPECT_TRUE(std::ranges::equal(out.view(), notice, {}, {},
                                   [](std::uint8_t octet) { return static_cast<char>(octet); }));
}
TEST(record_keys, are_of_three_suites) {
    for (const std::uint16_t id : {0x1301, 0x1302, 0x1303})
        EXPECT_NE(cipher_suite::find(id), nullptr) << id;
    for (const std::uint16_t id : {0x0000, 0x1300, 0x1304, 0x1305, 0xffff})
        EXPECT_EQ(cipher_suite::find(id), nullptr) << id;
    const std::vector<std::uint8_t> wrong(31);
    EXPECT_FALSE(record_key::create(*cipher_suite::find(aes_128), wrong, true, 0));
}
TEST(record_keys, no_two_records_are_alike) {
    auto k = key(chacha, 'x', true);
    buffer out;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(k.seal(content::application_data, "same", out));
    const std::string all(out.view());
    const std::size_t one = all.size() / 3;
    EXPECT_NE(all.substr(0, one), all.substr(one, one));
    EXPECT_NE(all.substr(one, one), all.substr(2 * one));
}
TEST(record_streams, carry_any_amount_both_ways_however_cut) {
    for (const std::uint16_t suite : {0x1301, 0x1302, 0x1303}) {
        record_stream a(key(suite, 'a', true), key(suite, 'b', false), true, nullptr);
        record_stream b(key(suite, 'b', true), key(suite, 'a', false), false, nullptr);
        for (const std::size_t size : {0U, 1U, 100U, 16'384U, 16'385U, 100'000U}) {
            for (const std::size_t piece : {1U, 7U, 5000U, 200'000U}) {
                for (const std::size_t room : {1U, 1000U, 16'384U, 16'385U, 40'000U}) {
                    if (size / piece > 20'000 || size / room > 20'000) continue;
                    std::string text;
                    for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i);
                    text.resize(size);
                    buffer raw;
                    buffer none;
                    ASSERT_TRUE(a.send(text, raw));
                    std::string heard;
                    std::vector<char> plain(room);
                    while (!raw.empty()) {
                        const std::size_t given = std::min(piece, raw.size());
                        for (std::size_t used = 0;;) {
                            const auto s =
                                b.receive(raw.bytes().subspan(used, given - used), plain, none);
                            ASSERT_TRUE(s) << s.error().message;
                            heard.append(plain.data(), s->produced);
                            used += s->consumed;
                            if (s->produced < room) {
                                ASSERT_EQ(used, given);
                                break;
                            }
                        }
                        raw.consume(given);
                    }
                    EXPECT_TRUE(heard == text) << size << " " << piece << " " << room;
                    EXPECT_TRUE(none.empty());
                }
            }
        }
    }
}
TEST_F(records, padding_is_taken_off) {
    // Zeros behind the type, as a peer hides lengths: sealed here as content whose last byte but
    // the zeros is the type.
    std::string padded = "hidden" + std::string(1, static_cast<char>(content::application_data)) +
                         std::string(99, '\0');
    EXPECT_TRUE(take(server, sealed(by_client, static_cast<content>(0), padded)));
    EXPECT_EQ(heard, "hidden");
    padded = std::string(1, static_cast<char>(content::application_data)) + std::string(99, '\0');
    EXPECT_TRUE(take(server, sealed(by_client, static_cast<content>(0), padded)));
    EXPECT_EQ(heard, "hidden");
    // A room that the padding does not fit in.
    padded = "small" + std::string(1, static_cast<char>(content::application_data)) +
             std::string(5000, '\0');
    EXPECT_TRUE(take(server, sealed(by_client, static_cast<content>(0), padded), 10));
    EXPECT_EQ(heard, "hiddensmall");
}
// RFC 8446 section 5.4: content, type and padding together are 2^14 + 1 bytes at most.
TEST_F(records, padding_counts) {
    const auto padded = [](std::size_t size) {
        std::string inner = "short" + std::string(1, static_cast<char>(content::application_data));
        inner.resize(size - 1);  // the test's "type" is the last byte of padding
        return inner;
    };
    EXPECT_TRUE(take(server, sealed(by_client, static_cast<content>(0), padded(16'385))));
    EXPECT_EQ(heard, "short");
    heard.clear();
    expect_refused_by_server(static_cast<content>(0), padded(16'386), alert::record_overflow,
                             "a record is too long or has no type");
}
TEST_F(records, padding_alone) {
    expect_refused_by_server(static_cast<content>(0), std::string(20, '\0'),
                             alert::unexpected_message, "a record is too long or has no type");
}
TEST_F(records, the_most_that_fits) {
    const std::string most(max_record_plain, 'x');
    EXPECT_TRUE(take(server, sealed(by_client, content::application_data, most)));
    EXPECT_EQ(heard.size(), most.size());
    heard.clear();
    // One byte more is within the limit for what travels, and not for what is in it.
    expect_refused_by_server(content::application_data, most + "x", alert::record_overflow,
                             "a record is too long or has no type");
}
TEST_F(records, a_header_that_announces_too_much_is_refused_alone) {
    expect_refused_by_server(std::string("\x17\x03\x03\x41\x01", 5), alert::record_overflow,
                             "a record is too long");
}
TEST_F(records, too_short_for_a_tag_and_a_type) {
    expect_refused_by_server(std::string("\x17\x03\x03\x00\x10", 5) + std::string(16, 'x'),
                             alert::bad_record_mac, "a record is too short");
}
TEST_F(records, plain_text_is_refused_for_its_header) {
    expect_refused_by_server("GET / ", alert::unexpected_message, "a record that is not encrypted");
}
TEST_F(records, an_alert_in_plain_text_is_refused) {
    expect_refused_by_server(std::string("\x15\x03\x03\x00\x02\x01\x00", 7),
                             alert::unexpected_message, "a record that is not encrypted");
}
TEST_F(records, each_changed_byte_is_found) {
    const std::string good = sealed(by_client, content::application_data, "exactly this");
    for (std::size_t i = record_header_bytes; i < good.size(); ++i) {
        record_stream fresh(key(aes_128, 's', true), key(aes_128, 'c', false), false, nullptr);
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ 0x10);
        EXPECT_FALSE(take(fresh, bad)) << i;
        EXPECT_EQ(failed.message, "TLS: decryption failed or bad record mac");
        EXPECT_EQ(heard, "");
    }
}
TEST_F(records, what_came_before_a_bad_one_is_heard) {
    std::string bad = sealed(by_client, content::application_data, "good");
    bad += sealed(by_client, static_cast<content>(99), "x");
    std::vector<char> plain(1000);
    const auto first = server.receive(bad, plain, answer);
    ASSERT_TRUE(first);
    EXPECT_EQ(std::string_view(plain.data(), first->produced), "good");
    EXPECT_LT(first->consumed, bad.size());
    EXPECT_FALSE(server.receive(std::span(bad).subspan(first->consumed), plain, answer));
}
TEST_F(records, lost_repeated_and_swapped_ones_are_found) {
    const std::string first = sealed(by_client, content::application_data, "1");
    const std::string second = sealed(by_client, content::application_data, "2");
    EXPECT_FALSE(take(server, second));
    record_stream again(key(aes_128, 's', true), key(aes_128, 'c', false), false, nullptr);
    EXPECT_TRUE(take(again, first));
    EXPECT_FALSE(take(again, first));
    EXPECT_EQ(heard, "1");
}
TEST_F(records, one_sides_records_are_not_the_others) {
    EXPECT_FALSE(take(server, sealed(by_server, content::application_data, "reflected")));
    EXPECT_EQ(heard, "");
}
TEST_F(records, of_a_type_that_does_not_belong) {
    expect_refused_by_server(static_cast<content>(99), "x", alert::unexpected_message,
                             "a record of a type that does not belong here");
}
TEST_F(records, change_of_cipher_after_the_handshake) {
    expect_refused_by_server(content::change_cipher_spec, "\x01", alert::unexpected_message,
                             "a record of a type that does not belong here");
}
TEST_F(records, the_end_is_told_and_nothing_after_it_is_taken) {
    buffer out;
    ASSERT_TRUE(client.send("last", out));
    client.finish(out);
    const std::string later = sealed(by_client, content::application_data, "later");
    EXPECT_TRUE(take(server, std::string(out.view()) + later));
    EXPECT_TRUE(server.has_ended());
    EXPECT_FALSE(client.has_ended());
    EXPECT_EQ(heard, "last");
    EXPECT_TRUE(answer.empty());
    // The other direction goes on.
    out.clear();
    ASSERT_TRUE(server.send("still here", out));
    EXPECT_TRUE(take(client, out.view()));
    EXPECT_EQ(heard, "laststill here");
}
TEST_F(records, alerts_of_the_peer) {
    // User_canceled.
    EXPECT_TRUE(take(server, sealed(by_client, content::alert, std::string("\x01\x5a", 2))));
    EXPECT_FALSE(server.has_ended());
    EXPECT_FALSE(take(server, sealed(by_client, content::alert, std::string("\x02\x2a", 2))));
    EXPECT_EQ(failed.message, "TLS: the peer's alert: bad_certificate");
    EXPECT_TRUE(answer.empty());  // it knows
}
TEST_F(records, a_malformed_alert) {
    expect_refused_by_server(content::alert, std::string("\x01\x00\x00", 3), alert::decode_error,
                             "an alert that is not one");
}
TEST_F(records, without_data_are_bounded) {
    for (unsigned i = 0; i < record_stream::max_idle_records; ++i) {
        ASSERT_TRUE(take(server, sealed(by_client, content::application_data, "")));
    }
    ASSERT_TRUE(take(server, sealed(by_client, content::application_data, "x")));
    heard.clear();
    for (unsigned i = 0; i < record_stream::max_idle_records; ++i) {
        ASSERT_TRUE(take(server, sealed(by_client, content::application_data, "")));
    }
    expect_refused_by_server(content::application_data, "", alert::unexpected_message,
                             "too many records without data");
}

constexpr std::string_view new_key("\x18\x00\x00\x01\x00", 5);
constexpr std::string_view new_key_and_yours_too("\x18\x00\x00\x01\x01", 5);

TEST_F(records, new_keys) {
    EXPECT_TRUE(take(server, sealed(by_client, content::handshake, new_key)));
    EXPECT_TRUE(answer.empty());
    ASSERT_TRUE(by_client.update());
    EXPECT_TRUE(take(server, sealed(by_client, content::application_data, "under the next key ")));
    EXPECT_TRUE(take(server, sealed(by_client, content::handshake, new_key_and_yours_too)));
    ASSERT_TRUE(by_client.update());
    EXPECT_TRUE(take(server, sealed(by_client, content::application_data, "and the one after it")));
    EXPECT_EQ(heard, "under the next key and the one after it");
    // Its own key is new too, announced under the old one.
    std::array<char, 6> plain{};
    auto opens = key(aes_128, 's', false);
    const auto got = opens.open(answer.bytes(), plain.data());
    EXPECT_EQ(got.type, content::handshake);
    EXPECT_EQ(std::string_view(plain.data(), got.size), new_key);
    ASSERT_TRUE(opens.update());
    buffer out;
    ASSERT_TRUE(server.send("hi", out));
    EXPECT_FALSE(opens.open(out.bytes(), plain.data()).why);
    EXPECT_EQ(std::string_view(plain.data(), 2), "hi");
}
TEST_F(records, an_old_key_is_not_taken_after_a_new_one) {
    EXPECT_TRUE(take(server, sealed(by_client, content::handshake, new_key)));
    EXPECT_FALSE(take(server, sealed(by_client, content::application_data, "under the old key")));
}
TEST_F(records, new_keys_without_data_are_bounded) {
    for (unsigned i = 0; i < record_stream::max_idle_records; ++i) {
        ASSERT_TRUE(take(server, sealed(by_client, content::handshake, new_key_and_yours_too)));
        ASSERT_TRUE(by_client.update());
    }
    EXPECT_FALSE(take(server, sealed(by_client, content::handshake, new_key_and_yours_too)));
    EXPECT_EQ(failed.message, "TLS: too many records without data");
}
TEST_F(records, malformed_new_keys) {
    const auto refused = [&](std::string_view message, alert why, std::string_view text) {
        record_key with = key(aes_128, 'c', true);
        record_stream fresh(key(aes_128, 's', true), key(aes_128, 'c', false), false, nullptr);
        answer.clear();
        EXPECT_FALSE(take(fresh, sealed(with, content::handshake, message)));
        EXPECT_EQ(failed.message, "TLS: " + std::string(text));
        EXPECT_EQ(told(key(aes_128, 's', false)), why);
    };
    refused(std::string_view("\x18\x00\x00\x01\x02", 5), alert::illegal_parameter,
            "a malformed KeyUpdate");
    refused(std::string_view("\x18\x00\x00\x02\x00\x00", 6), alert::decode_error,
            "a malformed KeyUpdate");
    refused(std::string_view("\x18\x00\x00\x00", 4), alert::decode_error, "a malformed KeyUpdate");
    refused(std::string_view("\x18\x00\x00\x01\x00\x18", 6), alert::unexpected_message,
            "a KeyUpdate that does not end its record");
    refused("", alert::unexpected_message, "an empty handshake record");
    refused(std::string_view("\x04\x00\x00\x01x", 5), alert::unexpected_message,
            "a handshake message that does not belong here");
    refused(std::string_view("\x01\x00\x00\x01x", 5), alert::unexpected_message,
            "a handshake message that does not belong here");
}
TEST_F(records, a_key_that_has_served_long_is_replaced) {
    constexpr std::uint64_t last = record_stream::max_records_per_key - 1;
    record_stream a(key(aes_128, 'c', true, last), key(aes_128, 's', false), true, nullptr);
    record_stream b(key(aes_128, 's', true), key(aes_128, 'c', false, last), false, nullptr);
    buffer out;
    ASSERT_TRUE(a.send("the last, ", out));
    const std::size_t one = out.size();
    ASSERT_TRUE(a.send("and the first.", out));
    EXPECT_GT(out.size(), 2 * one);  // a record more than was sent
    ASSERT_TRUE(a.send(" Another.", out));
    EXPECT_TRUE(take(b, out.view()));
    EXPECT_EQ(heard, "the last, and the first. Another.");
}

constexpr std::string_view ticket(
    "\x04\x00\x00\x03"
    "abc",
    7);

TEST_F(records, tickets_go_to_their_reader_until_there_is_data) {
    const std::string first = sealed(by_server, content::handshake, ticket);
    const std::string two =
        sealed(by_server, content::handshake, std::string(ticket) + std::string(ticket));
    EXPECT_TRUE(take(client, first + two));
    EXPECT_EQ(tickets.records, (std::vector<std::string>{first, two}));
    EXPECT_EQ(tickets.ends, 0);
    EXPECT_TRUE(take(client, sealed(by_server, content::application_data, "data")));
    EXPECT_EQ(tickets.ends, 1);
    EXPECT_TRUE(take(client, sealed(by_server, content::handshake, ticket)));
    EXPECT_TRUE(take(client, sealed(by_server, content::application_data, "!")));
    EXPECT_EQ(tickets.records.size(), 2U);
    EXPECT_EQ(tickets.ends, 1);
    EXPECT_EQ(heard, "data!");
}
TEST_F(records, a_ticket_in_pieces) {
    for (std::size_t cut = 1; cut < ticket.size(); ++cut) {
        const std::string a = sealed(by_server, content::handshake, ticket.substr(0, cut));
        const std::string b = sealed(by_server, content::handshake, ticket.substr(cut));
        tickets.records.clear();
        EXPECT_TRUE(take(client, a + b, 30));
        EXPECT_EQ(tickets.records, (std::vector<std::string>{a, b}));
    }
}
TEST_F(records, nothing_else_inside_a_ticket) {
    EXPECT_TRUE(take(client, sealed(by_server, content::handshake, ticket.substr(0, 5))));
    EXPECT_FALSE(take(client, sealed(by_server, content::application_data, "data")));
    EXPECT_EQ(failed.message, "TLS: a record in the middle of a handshake message");
    EXPECT_EQ(heard, "");
}
TEST_F(records, a_new_key_behind_a_ticket) {
    EXPECT_TRUE(take(
        client, sealed(by_server, content::handshake, std::string(ticket) + std::string(new_key))));
    EXPECT_EQ(tickets.records.size(), 0U);  // its reader would go on with the old key
    EXPECT_EQ(tickets.ends, 1);
    ASSERT_TRUE(by_server.update());
    EXPECT_TRUE(take(client, sealed(by_server, content::application_data, "data")));
    EXPECT_EQ(heard, "data");
}
TEST_F(records, a_ticket_that_is_too_long) {
    EXPECT_FALSE(take(
        client, sealed(by_server, content::handshake, std::string_view("\x04\x03\x00\x00", 4))));
    EXPECT_EQ(failed.message, "TLS: a ticket is too long");
    EXPECT_EQ(told(key(aes_128, 'c', false)), alert::decode_error);
}

// Whatever a peer that knows the key sends: what comes of it does not depend on how it is cut, and
// no more is read or written than there is.
TEST(record_streams, any_sequence_of_records_however_cut) {
    unsigned state = 1;
    const auto random = [&state](unsigned below) {
        return ((state = state * 1664525U + 1013904223U) >> 8) % below;
    };
    constexpr content types[] = {content::application_data,
                                 content::application_data,
                                 content::handshake,
                                 content::handshake,
                                 content::alert,
                                 content::change_cipher_spec,
                                 static_cast<content>(0),
                                 static_cast<content>(200)};
    const std::string_view plains[] = {"",
                                       "data",
                                       ticket,
                                       ticket.substr(0, 3),
                                       ticket.substr(3),
                                       new_key,
                                       new_key_and_yours_too,
                                       std::string_view("\x01\x00", 2),
                                       std::string_view("\x01\x5a", 2),
                                       std::string_view("\x02\x14", 2),
                                       std::string_view("\0\0\x17\0\0", 5)};
    int refused = 0;
    int ended = 0;
    for (int round = 0; round < 3000; ++round) {
        record_key peer = key(aes_128, 'p', true);
        buffer raw;
        for (unsigned i = 1 + random(6); i > 0; --i) {
            const std::string_view plain = plains[random(std::size(plains))];
            ASSERT_TRUE(peer.seal(types[random(std::size(types))], plain, raw));
            if (plain.starts_with(new_key[0]) && random(4) > 0) {
                ASSERT_TRUE(peer.update());
            }
        }
        if (random(4) == 0)
            raw.bytes()[random(static_cast<unsigned>(raw.size()))] ^=
                static_cast<char>(1 + random(255));
        const auto outcome = [&](std::size_t piece, std::size_t room) {
            notes tickets;
            record_stream ours(key(aes_128, 'o', true), key(aes_128, 'p', false), true, &tickets);
            std::string said;
            buffer answer;
            std::vector<char> plain(room);
            for (std::size_t at = 0; at < raw.size() && !ours.has_ended(); at += piece) {
                testing::exact_copy copy(raw.view().substr(at, piece));
                std::span<const char> left{copy.data(), copy.size()};
                bool more = false;
                while (!left.empty() || more) {
                    const auto s = ours.receive(left, plain, answer);
                    if (!s) return said + "!" + s.error().message + std::string(answer.view());
                    said.append(plain.data(), s->produced);
                    left = left.subspan(s->consumed);
                    more = s->produced == room;
                    if (ours.has_ended()) break;
                }
            }
            for (const auto& t : tickets.records) said += "<" + t + ">";
            return said + (ours.has_ended() ? "." : "") + std::string(answer.view());
        };
        const std::string whole = outcome(raw.size(), 1000);
        refused += whole.find('!') != std::string::npos;
        ended += whole.find('.') != std::string::npos;
        EXPECT_EQ(outcome(1, 1000), whole);
        EXPECT_EQ(outcome(1 + random(40), 1 + random(30)), whole);
    }
    EXPECT_GT(refused, 1000);
    EXPECT_LT(refused, 2900);
    EXPECT_GT(ended, 10);
}

}  // namespace wire::tls::detail::record_stream_test
