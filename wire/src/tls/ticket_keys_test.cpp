// Ticket keys by time, and what becomes of tickets whose time is over.
#include "ticket_keys.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "certificates.hpp"
#include "wire/tls/client_context.hpp"
#include "wire/tls/server_context.hpp"

namespace wire::tls::ticket_keys_test {

using namespace std::chrono_literals;
using detail::ticket_keys;
using detail::wall_time;

TEST(ticket_keys, seal_for_one_period_and_open_for_two) {
    const wall_time start{1'000'000h};
    ticket_keys keys(10h);
    const auto first = keys.current(start);
    ASSERT_TRUE(first);
    EXPECT_EQ(keys.current(start + 10h - 1s)->name, first->name);
    EXPECT_TRUE(keys.find(first->name.data(), start + 10h - 1s)->is_current);
    const auto second = keys.current(start + 10h);
    EXPECT_NE(second->name, first->name);
    EXPECT_NE(second->cipher, first->cipher);
    EXPECT_NE(second->mac, first->mac);
    EXPECT_FALSE(keys.find(first->name.data(), start + 20h - 1s)->is_current);
    EXPECT_FALSE(keys.find(first->name.data(), start + 20h));
}
TEST(ticket_keys, that_nobody_asked_for_in_time_are_gone) {
    const wall_time start{1'000'000h};
    ticket_keys keys(10h);
    const auto first = keys.current(start);
    EXPECT_FALSE(keys.find(first->name.data(), start + 20h));
}
TEST(ticket_keys, are_replaced_early_when_asked_or_when_time_steps_back) {
    const wall_time start{1'000'000h};
    ticket_keys keys(10h);
    const auto first = keys.current(start);
    keys.rotate(start + 1h);
    EXPECT_FALSE(keys.find(first->name.data(), start + 1h)->is_current);
    const auto second = keys.current(start + 1h);
    EXPECT_NE(keys.current(start)->name, second->name);
}

// A server by a clock that the test sets, and a client with a certificate of its own.
struct resumption : ::testing::Test {
    testing::certificates files;
    client_options client;
    server_options server;
    std::shared_ptr<wall_time> now = std::make_shared<wall_time>(std::chrono::system_clock::now());

    resumption() {
        const auto ours = files.for_localhost();
        const auto second =
            files.issue("second", {.name = "second", .alternatives = "DNS:second.example"});
        server.certificates = {{ours.certificate, ours.key}, {second.certificate, second.key}};
        server.client_ca_file = client.ca_file = files.ca_file();
        server.clock = [now = now] { return *now; };
    }
    void show_a_certificate(long valid_for_seconds) {
        const auto me = files.issue("me", {.name = "me", .valid_until = valid_for_seconds});
        client.certificate_file = me.certificate;
        client.key_file = me.key;
        server.client = client_certificate::required;
    }
    // "whole", "resumed" or "refused".
    static std::string meet(client_context& c, server_context& s, std::string_view host) {
        const auto ours = *c.connect(host, 443);
        const auto theirs = *s.accept();
        buffer to_server;
        buffer to_client;
        if (!ours->begin(to_server) || !theirs->begin(to_client)) return "refused";
        while (!to_server.empty() || !to_client.empty()) {
            if (!hand_over(to_server, *theirs, to_client)) return "refused";
            if (!hand_over(to_client, *ours, to_server)) return "refused";
        }
        if (!ours->is_open() || !theirs->is_open()) return "refused";
        EXPECT_EQ(ours->info().resumed, theirs->info().resumed);
        return theirs->info().resumed ? "resumed" : "whole";
    }
    static bool hand_over(buffer& from, connection& to, buffer& back) {
        const std::string raw(from.view());
        from.clear();
        std::string plain(1000, '\0');
        std::span<const char> left(raw);
        while (true) {
            const bool was_open = to.is_open();
            const auto s = to.receive(left, plain, back);
            if (!s) return false;
            left = left.subspan(s->consumed);
            if (was_open || !to.is_open()) return true;
        }
    }
    // In both versions, and with both certificates of the server.
    template <typename Use> void in_each_case(Use use) {
        const wall_time start = *now;
        for (const version v : {version::tls_1_2, version::tls_1_3}) {
            for (const std::string host : {"localhost", "second.example"}) {
                SCOPED_TRACE(host + (v == version::tls_1_2 ? " by 1.2" : " by 1.3"));
                *now = start;
                client.min_version = client.max_version = v;
                const auto ours = client_context::create(client);
                const auto theirs = server_context::create(server);
                ASSERT_TRUE(ours) << ours.error().message;
                ASSERT_TRUE(theirs) << theirs.error().message;
                use([&] { return meet(**ours, **theirs, host); }, **theirs);
            }
        }
    }
};

TEST_F(resumption, is_not_offered_to_clients_with_certificates_unless_asked) {
    show_a_certificate(24 * 3600);
    for (const auto asked : {client_certificate::optional, client_certificate::required}) {
        server.client = asked;
        in_each_case([&](auto again, server_context&) {
            EXPECT_EQ(again(), "whole");
            EXPECT_EQ(again(), "whole");
        });
    }
}
TEST_F(resumption, ends_with_the_clients_certificate) {
    show_a_certificate(3600);
    server.tickets_with_client_certificates = true;
    in_each_case([&](auto again, server_context&) {
        EXPECT_EQ(again(), "whole");
        EXPECT_EQ(again(), "resumed");
        *now += 50min;
        EXPECT_EQ(again(), "resumed");
        *now += 11min;
        EXPECT_EQ(again(), "refused");
    });
}
TEST_F(resumption, ends_with_the_session_however_often_it_was_resumed) {
    server.session_lifetime = 1h;
    in_each_case([&](auto again, server_context&) {
        EXPECT_EQ(again(), "whole");
        for (int i = 0; i < 3; ++i) {
            *now += 19min;
            EXPECT_EQ(again(), "resumed");
        }
        *now += 4min;
        EXPECT_EQ(again(), "whole");
        EXPECT_EQ(again(), "resumed");
    });
}
TEST_F(resumption, ends_with_the_key_of_the_ticket) {
    server.session_lifetime = 24h;
    server.ticket_key_period = 1h;
    in_each_case([&](auto again, server_context&) {
        EXPECT_EQ(again(), "whole");
        *now += 90min;
        EXPECT_EQ(again(), "resumed");  // by the key before
        *now += 3h;
        EXPECT_EQ(again(), "whole");
    });
}
TEST_F(resumption, survives_a_reload_only_without_client_certificates) {
    in_each_case([&](auto again, server_context& theirs) {
        EXPECT_EQ(again(), "whole");
        EXPECT_TRUE(theirs.reload());
        EXPECT_EQ(again(), "resumed");
    });
    show_a_certificate(24 * 3600);
    server.tickets_with_client_certificates = true;
    in_each_case([&](auto again, server_context& theirs) {
        EXPECT_EQ(again(), "whole");
        EXPECT_TRUE(theirs.reload());
        EXPECT_EQ(again(), "whole");
        EXPECT_EQ(again(), "resumed");
    });
}
TEST_F(resumption, takes_sound_times) {
    server.session_lifetime = 0s;
    EXPECT_EQ(server_context::create(server).error().message,
              "session_lifetime: from 1 second to 7 days");
    server.session_lifetime = 1h;
    server.ticket_key_period = 24h * 8;
    EXPECT_EQ(server_context::create(server).error().message,
              "ticket_key_period: from 1 second to 7 days");
}

}  // namespace wire::tls::ticket_keys_test
