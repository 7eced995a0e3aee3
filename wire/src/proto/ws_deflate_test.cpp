// Offers and answers of permessage-deflate, and messages compressed, cut and damaged.
#include "wire/proto/ws_deflate.hpp"

#include <gtest/gtest.h>

#include <string>

#include "pieces.hpp"
#include "wire/proto/ws_handshake.hpp"
#include "wire/proto/ws_reader.hpp"

namespace wire::ws::ws_deflate_test {

using namespace std::string_literals;

// ---- negotiation ----

http::header_list fields(const std::vector<std::string>& values) {
    static std::vector<std::string> kept;  // the list holds views
    static http::response_head head;
    static std::string text;
    static limits l;
    text = "HTTP/1.1 101 X\r\n";
    for (const auto& v : values) text += "Sec-WebSocket-Extensions: " + v + "\r\n";
    text += "\r\n";
    http::response_parser parser(l);
    EXPECT_EQ(parser.parse(text, head).what, http::event::head) << text;
    return head.headers;
}

std::string text_of(const deflate_agreement& a) {
    const auto one = [](deflate_agreement::direction d) {
        return std::to_string(d.window_bits) + (d.context_takeover ? "+" : "-");
    };
    return "server " + one(a.server) + " client " + one(a.client);
}

const deflate_options keeping{.context_takeover = true, .peer_context_takeover = true};

std::string accepts(const std::vector<std::string>& offers, const deflate_options& o = keeping) {
    const auto a = accept_deflate(fields(offers), o);
    return a ? a->answer + " | " + text_of(a->agreed) : "declined";
}

class ws_deflate : public ::testing::Test {
protected:
    void SetUp() override {
        if (!compression_available()) GTEST_SKIP() << "built without zlib";
    }
};

TEST_F(ws_deflate, offers_accepted) {
    EXPECT_EQ(accepts({"permessage-deflate"}), "permessage-deflate | server 15+ client 15+");
    EXPECT_EQ(accepts({"permessage-deflate; client_max_window_bits"}),
              "permessage-deflate | server 15+ client 15+");
    EXPECT_EQ(accepts({"permessage-deflate; client_max_window_bits=10"}),
              "permessage-deflate; client_max_window_bits=10 | server 15+ client 10+");
    EXPECT_EQ(accepts({"permessage-deflate;client_max_window_bits = \"8\""}),
              "permessage-deflate; client_max_window_bits=8 | server 15+ client 8+");
    EXPECT_EQ(accepts({"permessage-deflate; server_max_window_bits=15"}),
              "permessage-deflate; server_max_window_bits=15 | server 15+ client 15+");
    EXPECT_EQ(
        accepts(
            {"permessage-deflate; server_max_window_bits=\"1\\0\"; server_no_context_takeover"}),
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=10 | server 10- "
        "client 15+");
    EXPECT_EQ(accepts({"permessage-deflate; client_no_context_takeover"}),
              "permessage-deflate; client_no_context_takeover | server 15+ client 15-");
}
TEST_F(ws_deflate, a_server_may_ask_for_less_than_was_offered) {
    EXPECT_EQ(accepts({"permessage-deflate"}, {}),
              "permessage-deflate; server_no_context_takeover; client_no_context_takeover | server "
              "15- client 15-");
    const deflate_options small{.context_takeover = true,
                                .window_bits = 10,
                                .peer_context_takeover = true,
                                .peer_window_bits = 11};
    EXPECT_EQ(accepts({"permessage-deflate; client_max_window_bits"}, small),
              "permessage-deflate; server_max_window_bits=10; client_max_window_bits=11 | server "
              "10+ client 11+");
    EXPECT_EQ(
        accepts({"permessage-deflate; client_max_window_bits=9; server_max_window_bits=12"}, small),
        "permessage-deflate; server_max_window_bits=10; client_max_window_bits=9 | server 10+ "
        "client 9+");
    // A client that does not understand client_max_window_bits could not be told.
    EXPECT_EQ(accepts({"permessage-deflate"}, small), "declined");
}
TEST_F(ws_deflate, offers_declined) {
    for (const std::string parameters :
         {"x_unknown", "server_no_context_takeover; server_no_context_takeover",
          "client_no_context_takeover; client_no_context_takeover", "server_no_context_takeover=1",
          "client_no_context_takeover=\"x\"", "server_max_window_bits", "server_max_window_bits=7",
          "server_max_window_bits=16", "server_max_window_bits=08", "server_max_window_bits=1O",
          "server_max_window_bits=100", "client_max_window_bits=7", "client_max_window_bits=16",
          "client_max_window_bits; client_max_window_bits=15",
          "server_max_window_bits=15; server_max_window_bits=15", "SERVER_NO_CONTEXT_TAKEOVER",
          "server_max_window_bits=8"}) {  // zlib cannot make that one
        EXPECT_EQ(accepts({"permessage-deflate; " + parameters}), "declined") << parameters;
    }
    EXPECT_EQ(accepts({}), "declined");
    EXPECT_EQ(accepts({"permessage-bzip2"}), "declined");
}
TEST_F(ws_deflate, the_first_offer_that_will_do) {
    EXPECT_EQ(accepts({"x-webkit-deflate-frame, permessage-deflate; server_max_window_bits=8 , "
                       "permessage-deflate; server_max_window_bits=9, permessage-deflate"}),
              "permessage-deflate; server_max_window_bits=9 | server 9+ client 15+");
    EXPECT_EQ(accepts({"permessage-deflate; nonsense", ", ,Permessage-Deflate"}),
              "permessage-deflate | server 15+ client 15+");
}
TEST_F(ws_deflate, malformed_fields) {
    for (const std::string bad :
         {"permessage-deflate;", "permessage-deflate; =1",
          "permessage-deflate; a=", "permessage-deflate; a=\"x", "permessage-deflate; a=\"x y\"",
          "permessage-deflate; a=\"\"", "permessage-deflate; a=\"x\\", "a b", "a;b c", ";", "a/b",
          "a=1", "a; b=c d"}) {
        EXPECT_FALSE(extensions_are_well_formed(fields({bad}))) << bad;
        EXPECT_FALSE(extensions_are_well_formed(fields({"permessage-deflate", bad}))) << bad;
        EXPECT_EQ(accepts({"permessage-deflate, " + bad}), "declined") << bad;
    }
    for (const std::string good : {"", "a", "a,b", "a;b=c;d , e; f=\"g\"", ",,a,", "a\t;\tb = c"}) {
        EXPECT_TRUE(extensions_are_well_formed(fields({good}))) << good;
    }
}
std::string answered(const std::vector<std::string>& values, const deflate_options& o) {
    const auto r = read_deflate_answer(fields(values), o);
    if (!r) return "refused";
    return *r ? text_of(**r) : "none";
}
TEST_F(ws_deflate, what_a_client_offers) {
    EXPECT_EQ(deflate_offer({}),
              "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
              "client_max_window_bits");
    EXPECT_EQ(deflate_offer(keeping), "permessage-deflate; client_max_window_bits");
    EXPECT_EQ(deflate_offer({.context_takeover = true,
                             .window_bits = 1,
                             .peer_context_takeover = true,
                             .peer_window_bits = 1}),
              "permessage-deflate; server_max_window_bits=8; client_max_window_bits=9");
}
TEST_F(ws_deflate, answers_to_a_client) {
    EXPECT_EQ(answered({}, keeping), "none");
    EXPECT_EQ(answered({"permessage-deflate"}, keeping), "server 15+ client 15+");
    EXPECT_EQ(answered({"permessage-deflate; server_max_window_bits=9; client_max_window_bits=8; "
                        "client_no_context_takeover; server_no_context_takeover"},
                       keeping),
              "server 9- client 8-");
    const deflate_options small{.context_takeover = true,
                                .window_bits = 12,
                                .peer_context_takeover = false,
                                .peer_window_bits = 10};
    EXPECT_EQ(
        answered({"permessage-deflate; server_no_context_takeover; server_max_window_bits=10"},
                 small),
        "server 10- client 12+");
    // Less than was asked for.
    EXPECT_EQ(answered({"permessage-deflate; server_max_window_bits=10"}, small), "refused");
    EXPECT_EQ(answered({"permessage-deflate; server_no_context_takeover"}, small), "refused");
    EXPECT_EQ(
        answered({"permessage-deflate; server_no_context_takeover; server_max_window_bits=11"},
                 small),
        "refused");
    for (const std::string bad :
         {"permessage-deflate, permessage-deflate", "other", "permessage-deflate, other",
          "permessage-deflate; client_max_window_bits", "permessage-deflate; x",
          "permessage-deflate; server_no_context_takeover=1",
          "permessage-deflate; server_max_window_bits=16", "permessage-deflate;"}) {
        EXPECT_EQ(answered({bad}, keeping), "refused") << bad;
    }
    EXPECT_EQ(answered({"permessage-deflate", "permessage-deflate"}, keeping), "refused");
}
TEST_F(ws_deflate, both_sides_agree_whatever_they_would_like) {
    for (const bool a : {false, true}) {
        for (const bool b : {false, true}) {
            for (const int x : {9, 12, 15}) {
                for (const int y : {9, 12, 15}) {
                    const deflate_options client{.context_takeover = a,
                                                 .window_bits = x,
                                                 .peer_context_takeover = b,
                                                 .peer_window_bits = y};
                    const deflate_options server{.context_takeover = a != b,
                                                 .window_bits = y,
                                                 .peer_context_takeover = true,
                                                 .peer_window_bits = x};
                    const auto accepted = accept_deflate(fields({deflate_offer(client)}), server);
                    ASSERT_TRUE(accepted);
                    const auto read = read_deflate_answer(fields({accepted->answer}), client);
                    ASSERT_TRUE(read && *read) << accepted->answer;
                    EXPECT_EQ(**read, accepted->agreed) << accepted->answer;
                }
            }
        }
    }
}

// ---- messages ----

constexpr mask_key key{0xA1, 0x02, 0xF3, 0x44};

std::string frame(std::string_view payload, role reader, bool compressed, opcode op = opcode::text,
                  bool fin = true) {
    buffer out;
    append_frame(out, op, payload, reader == role::server ? std::optional(key) : std::nullopt, fin,
                 compressed);
    return std::string(out.view());
}

std::string raw_deflate(std::string_view text, flush how = flush::sync) {
    auto c = compressor::create(coding::raw_deflate);
    buffer out;
    EXPECT_EQ(c->add(text, how, out), errc::none);
    if (how == flush::sync) out.truncate(out.size() - 4);
    return std::string(out.view());
}

struct receiver {
    receiver(role r, const limits& l, const deflate_agreement& agreed,
             const deflate_options& o = {})
        : deflate(r, agreed, o, pool, l), reader(r, l, &deflate) {}
    std::string feed(std::string_view piece) {
        held += piece;
        std::string said;
        std::size_t at = 0;
        for (;;) {
            testing::exact_copy in(std::string_view(held).substr(at));
            const step s = reader.read({in.data(), in.size()});
            at += s.consumed;
            if (s.what == event::need_more) break;
            if (s.what == event::error)
                return said + "error " + std::string(to_string(s.error)) + ";";
            said += s.what == event::message ? (s.op == opcode::text ? "text " : "binary ")
                                             : "control ";
            said += std::string(s.data) + ";";
        }
        held.erase(0, at);
        return said;
    }
    deflate_pool pool;
    permessage_deflate deflate;
    message_reader reader;
    std::string held;
};

std::string reads(std::string_view bytes, const limits& l = {},
                  const deflate_agreement& agreed = {}) {
    const auto once = [&](const testing::pieces& cut) {
        receiver r(role::server, l, agreed);
        std::string said;
        for (const auto piece : cut) {
            said += r.feed(piece);
            if (said.find("error") != std::string::npos) break;
        }
        return said;
    };
    const std::string whole = once({bytes});
    if (bytes.size() < 500) {
        for (const auto& cut : testing::all_cuts(bytes))
            EXPECT_EQ(once(cut), whole) << "cut into " << cut.size() << " after " << cut[0].size();
    }
    return whole;
}
std::string f(std::string_view payload, bool compressed = true, opcode op = opcode::text,
              bool fin = true) {
    return frame(payload, role::server, compressed, op, fin);
}

TEST_F(ws_deflate, examples_of_the_rfc) {  // sections 7.2.3.1 to 7.2.3.6
    EXPECT_EQ(reads(f("\xf2\x48\xcd\xc9\xc9\x07\x00"s) + f("\xf2\x00\x11\x00\x00"s)),
              "text Hello;text Hello;");
    EXPECT_EQ(reads(f("\xf2\x48\xcd"s, true, opcode::text, false) +
                    f("\xc9\xc9\x07\x00"s, false, opcode::continuation)),
              "text Hello;");
    EXPECT_EQ(reads(f("\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"s)), "text Hello;");
    EXPECT_EQ(reads(f("\xf3\x48\xcd\xc9\xc9\x07\x00\x00"s)), "text Hello;");
    EXPECT_EQ(reads(f("\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"s)), "text Hello;");
    EXPECT_EQ(reads(f("\x00"s) + f("\xf2\x48\xcd\xc9\xc9\x07\x00"s)), "text ;text Hello;");
}
TEST_F(ws_deflate, plain_and_compressed_messages_in_turn) {
    const std::string hello = raw_deflate("hello");
    EXPECT_EQ(reads(f("plain", false) + f(hello) + f("a", false, opcode::binary, false) +
                    f("p", false, opcode::ping) + f("b", false, opcode::continuation)),
              "text plain;text hello;control p;binary ab;");
    EXPECT_EQ(reads(f(hello.substr(0, 2), true, opcode::binary, false) +
                    f("", false, opcode::continuation, false) + f("p", false, opcode::ping) +
                    f(hello.substr(2), false, opcode::continuation)),
              "control p;binary hello;");
}
TEST_F(ws_deflate, rsv1_elsewhere_is_refused) {
    const std::string hello = raw_deflate("hello");
    EXPECT_EQ(reads(f(hello.substr(0, 2), true, opcode::text, false) +
                    f(hello.substr(2), true, opcode::continuation)),
              "error malformed WebSocket frame;");
    EXPECT_EQ(reads(f("p", true, opcode::ping)), "error malformed WebSocket frame;");
    std::string rsv2 = f(hello);
    rsv2[0] = static_cast<char>(rsv2[0] | 0x20);
    EXPECT_EQ(reads(rsv2), "error malformed WebSocket frame;");
    limits l;
    message_reader plain(role::server, l);
    std::string bytes = f(hello);
    EXPECT_EQ(plain.read({bytes.data(), bytes.size()}).error, errc::bad_frame);
}
TEST_F(ws_deflate, final_blocks) {
    const std::string one = raw_deflate("one ", flush::finish);
    EXPECT_EQ(reads(f(one + '\0') + f(raw_deflate("next"))), "text one ;text next;");
    EXPECT_EQ(reads(f(one + one + raw_deflate("two"))), "text one one two;");
    // Without the empty block that should follow.
    EXPECT_EQ(reads(f(one) + f(one)), "text one ;text one ;");
    EXPECT_EQ(reads(f("") + f(raw_deflate("x"))), "text ;text x;");  // nothing at all
}
TEST_F(ws_deflate, bad_data) {
    EXPECT_EQ(reads(f(std::string(20, '\xFF'))), "error malformed compressed data;");
    // Cut in the middle of a block.
    const std::string whole = raw_deflate("hello hello hello, and some more of it");
    for (std::size_t n = 1; n < whole.size(); ++n)
        EXPECT_EQ(reads(f(whole.substr(0, n))), "error malformed compressed data;") << n;
    // A reference to a message before, which the agreement rules out.
    EXPECT_EQ(reads(f("\xf2\x48\xcd\xc9\xc9\x07\x00"s) + f("\xf2\x00\x11\x00\x00"s), {},
                    {.client = {15, false}}),
              "text Hello;error malformed compressed data;");
}
TEST_F(ws_deflate, utf8_is_checked_as_it_inflates) {
    EXPECT_EQ(reads(f(raw_deflate("\xE2\x82\xAC"))), "text \xE2\x82\xAC;");
    EXPECT_EQ(reads(f(raw_deflate("\xE2\x82"))), "error text that is not UTF-8;");
    EXPECT_EQ(reads(f(raw_deflate("\xE2\x82"), true, opcode::binary)), "binary \xE2\x82;");
    EXPECT_EQ(reads(f(raw_deflate("\xFF") + "never mind", true, opcode::text, false)),
              "error text that is not UTF-8;");
}
TEST_F(ws_deflate, the_limit_counts_what_comes_out) {
    limits l;
    l.max_message_bytes = 100;
    const std::string fits(100, 'x');
    EXPECT_EQ(reads(f(raw_deflate(fits)), l), "text " + fits + ";");
    EXPECT_EQ(reads(f(raw_deflate(fits + 'x')), l), "error WebSocket message too large;");
    EXPECT_EQ(reads(f(raw_deflate(std::string(100'000, 'x'))), l),
              "error WebSocket message too large;");
    // Endless empty blocks, of which nothing comes out.
    std::string empty;
    for (int i = 0; i < 300; ++i) empty += "\x00\x00\x00\xFF\xFF"s;
    EXPECT_EQ(reads(f(empty, true, opcode::text), l), "error WebSocket message too large;");
    EXPECT_EQ(reads(f(empty.substr(0, 1000), true, opcode::text, false) +
                        f(empty.substr(1000), false, opcode::continuation),
                    l),
              "error WebSocket message too large;");
    const std::string incompressible = "\x01\x02\x03\x04\xF0\x90\x80\x80"s;
    EXPECT_EQ(reads(f(raw_deflate(incompressible)), l), "text " + incompressible + ";");
}
TEST_F(ws_deflate, bombs_are_stopped_by_their_ratio_message_by_message) {
    limits l;
    l.max_decompression_ratio = 50;
    l.max_message_bytes = 16 << 20;
    EXPECT_EQ(reads(f(raw_deflate(std::string(5'000'000, ' '))), l),
              "error compressed data expands too much;");
    const std::string page(60'000, ' ');
    EXPECT_EQ(reads(f(raw_deflate(page)) + f(raw_deflate(page)), l),
              "text " + page + ";text " + page + ";");
    l.max_decompression_ratio = 0;
    EXPECT_EQ(reads(f(raw_deflate(std::string(5'000'000, ' '))), l).size(), 5'000'006U);
}
TEST_F(ws_deflate, honest_messages_that_repeat_are_no_bombs) {
    std::string repetitive;
    while (repetitive.size() < 300 * 1024) repetitive += "GET /index.html 200 1024\n";
    for (const std::string& honest : {std::string(70'000, '\0'), repetitive})
        EXPECT_TRUE(reads(f(raw_deflate(honest)), limits()) == "text " + honest + ";");
    // Where the limit on size is smaller, that decides.
    EXPECT_EQ(reads(f(raw_deflate(std::string(2'000'000, ' '))), limits()),
              "error WebSocket message too large;");
}
TEST_F(ws_deflate, both_roles_through_every_agreement) {
    limits l;
    const std::string noise = [] {
        std::string out;
        for (unsigned i = 0, x = 1; i < 3'000; ++i)
            out += static_cast<char>('0' + ((x = x * 1664525 + 1013904223) >> 24) % 64);
        return out;
    }();
    for (const int bits : {8, 9, 12, 15}) {
        for (const bool takeover : {false, true}) {
            for (const role sender : {role::server, role::client}) {
                const role other = sender == role::server ? role::client : role::server;
                const deflate_agreement::direction d{static_cast<std::uint8_t>(bits), takeover};
                const deflate_agreement agreed{d, d};
                deflate_pool pool;
                permessage_deflate from(sender, agreed, {.min_bytes = 10}, pool, l);
                receiver to(other, l, agreed);
                std::size_t first = 0;
                for (int i = 0; i < 4; ++i) {
                    for (const std::string& text :
                         {std::string(5'000, 'a') + noise, "short"s, noise, ""s}) {
                        buffer out;
                        from.append_message(
                            out, opcode::text, text,
                            sender == role::client ? std::optional(key) : std::nullopt);
                        EXPECT_EQ(to.feed(out.view()), "text " + text + ";");
                        const bool compressed =
                            (static_cast<unsigned char>(out.view()[0]) & 0x40) != 0;
                        EXPECT_EQ(compressed, bits > 8 && text.size() > 10) << bits << text.size();
                        if (text.size() > 5'000) {
                            if (i == 0) first = out.size();
                            EXPECT_EQ(out.size() < first / 2, i > 0 && takeover && bits == 15);
                        }
                    }
                }
            }
        }
    }
}
// Peers whose zlib makes a window of 9 bits of 8 agree to 8: it reaches back 250 bytes at most, so
// that they keep to it.
TEST_F(ws_deflate, messages_within_a_window_of_8_bits_are_inflated) {
    limits l;
    deflate_pool pool;
    const deflate_agreement::direction nine{9, true};
    const deflate_agreement::direction eight{8, true};
    std::string pattern;
    for (unsigned i = 0, x = 1; i < 200; ++i)
        pattern += static_cast<char>('0' + ((x = x * 1664525 + 1013904223) >> 24) % 64);
    permessage_deflate from(role::client, {nine, nine}, {.min_bytes = 1}, pool, l);
    receiver to(role::server, l, {.server = eight, .client = eight});
    std::size_t first = 0;
    for (int i = 0; i < 20; ++i) {
        buffer out;
        from.append_message(out, opcode::text, pattern, key);
        if (i == 0) first = out.size();
        EXPECT_EQ(to.feed(out.view()), "text " + pattern + ";");
        EXPECT_EQ(out.size() < first / 2, i > 0);  // it refers to the message before
    }
}
TEST_F(ws_deflate, what_does_not_shrink_goes_as_it_is) {
    limits l;
    deflate_pool pool;
    const deflate_agreement::direction no{15, false};
    permessage_deflate from(role::server, {no, no}, {.min_bytes = 0}, pool, l);
    buffer out;
    from.append_message(out, opcode::text, "abc");
    EXPECT_EQ(out.view(),
              "\x81\x03"
              "abc");
    out.clear();
    from.append_message(out, opcode::binary, "");
    EXPECT_EQ(out.view(), "\x82\x00"s);
}
TEST_F(ws_deflate, a_message_half_way_gives_back_what_it_was_lent) {
    limits l;
    const deflate_agreement::direction no{15, false};
    deflate_pool pool;
    for (int i = 0; i < 20; ++i) {
        permessage_deflate d(role::server, {no, no}, {}, pool, l);
        message_reader reader(role::server, l, &d);
        std::string bytes = f(raw_deflate("hello").substr(0, 3), true, opcode::text, false);
        EXPECT_EQ(reader.read({bytes.data(), bytes.size()}).what, event::need_more);
    }
    // The next one finds it in order.
    permessage_deflate d(role::server, {no, no}, {}, pool, l);
    message_reader reader(role::server, l, &d);
    std::string bytes = f(raw_deflate("hello"));
    EXPECT_EQ(reader.read({bytes.data(), bytes.size()}).data, "hello");
}
TEST_F(ws_deflate, an_abandoned_message_holds_nothing) {
    limits l;
    const deflate_agreement::direction no{15, false};
    deflate_pool pool;
    permessage_deflate d(role::server, {no, no}, {}, pool, l);
    message_reader reader(role::server, l, &d);
    std::string bytes = f(raw_deflate("hello").substr(0, 3), true, opcode::text, false);
    EXPECT_EQ(reader.read({bytes.data(), bytes.size()}).what, event::need_more);
    EXPECT_GT(reader.held_bytes(), 0U);
    reader.abandon();
    EXPECT_EQ(reader.held_bytes(), 0U);
    EXPECT_EQ(reader.read({}).what, event::error);
    permessage_deflate next(role::server, {no, no}, {}, pool, l);
    message_reader after(role::server, l, &next);
    std::string whole = f(raw_deflate("hello"));
    EXPECT_EQ(after.read({whole.data(), whole.size()}).data, "hello");
}

}  // namespace wire::ws::ws_deflate_test
