// Streams with a filter: what is held back in a pause, and every way in which they end.
#include <string>

#include "filtered_streams.hpp"

namespace wire::stream_filter_ends_test {

using testing::end_mark;
using testing::filtered_streams;
using testing::scratch_bytes;
using testing::toy;
using testing::veiled;

TEST_F(filtered_streams, are_not_quiet_with_the_end_behind_bytes) {
    connect_to_raw_server();
    server.write("yo!");
    run_until([&] { return client.is_open(); });
    EXPECT_TRUE(client.quiet());
    bool quiet = true;
    client.on_bytes = [&] { quiet = client.quiet(); };
    server.write(veiled("last") + std::string(1, end_mark));
    run_until([&] { return client.received == "last"; });
    EXPECT_FALSE(quiet);
}
TEST_F(filtered_streams, a_pause_in_the_middle_holds_the_rest) {
    connect();
    std::string large;
    for (int i = 0; large.size() < 100'000; ++i) large += std::to_string(i) + ",";
    server.on_bytes = [&] { server.pause_reading(); };
    client.write(large);
    std::size_t before = 0;
    for (int pauses = 0; server.received.size() < large.size(); ++pauses) {
        run_until([&] { return server.received.size() > before; });
        before = server.received.size();
        some_iterations();
        EXPECT_EQ(server.received.size(), before);
        EXPECT_EQ(large.compare(0, before, server.received), 0);
        server.resume_reading();
        EXPECT_EQ(server.received.size(), before);  // never from inside the call
    }
    EXPECT_EQ(server.log, "open ");
}
// Whether the end of the connection comes during the pause or finds it over.
TEST_F(filtered_streams, what_a_pause_held_back_comes_before_the_end) {
    for (const bool during : {true, false}) {
        for (const bool in_order : {true, false}) {
            connect_to_raw_server();
            client.on_opened = [&] { client.pause_reading(); };
            server.write("yo!" + veiled("held") + (in_order ? std::string(1, end_mark) : ""));
            if (during) server.shutdown_write();
            run_until([&] { return client.is_open(); });
            some_iterations();
            server.shutdown_write();
            some_iterations();
            EXPECT_EQ(client.received, "");
            EXPECT_EQ(client.log, "connected open ");
            client.resume_reading();
            run_until([&] { return client.log != "connected open "; });
            some_iterations();
            EXPECT_EQ(client.received, "held");
            EXPECT_EQ(client.log, in_order ? "connected open end "
                                           : "connected open failed: the connection's end, without "
                                             "the peer's word that it has sent all ");
            client.close();
            server.close();
            client.on_opened = nullptr;
            client.log.clear();
            client.received.clear();
            server.log.clear();
            server.received.clear();
        }
    }
}
// The same where the peer resets the connection: in the pause, before it, or between its end and
// the next iteration.
TEST_F(filtered_streams, what_a_pause_held_back_comes_before_a_reset) {
    for (const bool during : {true, false}) {
        for (const bool pieces : {true, false}) {
            connect_to_raw_server();
            client.on_opened = [&] { client.pause_reading(); };
            server.write("yo!" + veiled("held") + veiled(std::string(250, 'x')));
            run_until([&] { return client.is_open(); });
            if (during) {
                server.close(true);
                some_iterations();
            }
            EXPECT_EQ(client.received, "");
            EXPECT_EQ(client.log, "connected open ");
            if (pieces) {
                client.most = 100;
                client.on_bytes = [&] { client.pause_reading(); };
            }
            client.resume_reading();
            if (!during) server.close(true);
            for (int i = 0; i < 20 && !client.is_closed(); ++i) {
                some_iterations();
                if (!client.reading()) client.resume_reading();
            }
            EXPECT_TRUE(client.is_closed());
            EXPECT_EQ(client.received, "held" + std::string(250, 'x'));
            EXPECT_EQ(client.failure, errc::reset);
            client.on_opened = nullptr;
            client.on_bytes = nullptr;
            client.most = scratch_bytes;
            client.log.clear();
            client.received.clear();
            server.log.clear();
            server.received.clear();
        }
    }
}
// A reader that pauses in the last bytes is not told of the end that came with them.
TEST_F(filtered_streams, a_pause_in_the_last_bytes_holds_the_end) {
    for (const bool closes : {true, false}) {
        connect_to_raw_server();
        client.on_bytes = [&] { client.pause_reading(); };
        server.write("yo!" + veiled("last") + std::string(1, end_mark));
        if (closes) server.shutdown_write();
        run_until([&] { return client.received == "last"; });
        some_iterations();
        EXPECT_EQ(client.log, "connected open ");
        EXPECT_FALSE(client.quiet());
        client.resume_reading();
        EXPECT_EQ(client.log, "connected open ");  // never from inside the call
        run_until([&] { return client.log != "connected open "; });
        some_iterations();
        EXPECT_EQ(client.log, "connected open end ");
        EXPECT_EQ(client.received, "last");
        client.close();
        server.close();
        client.on_bytes = nullptr;
        client.log.clear();
        client.received.clear();
        server.log.clear();
        server.received.clear();
    }
}
TEST_F(filtered_streams, a_reset_is_told_at_once_where_something_is_to_be_sent) {
    for (const bool before : {true, false}) {
        connect_to_raw_server();
        client.on_opened = [&] { client.pause_reading(); };
        server.write("yo!" + veiled("held"));
        run_until([&] { return client.is_open(); });
        if (before) client.out().append("unsent");
        server.close(true);
        some_iterations();
        EXPECT_EQ(client.is_closed(), before);
        if (!before) {
            client.out().append("unsent");
            EXPECT_FALSE(client.flush());
            some_iterations();
        }
        EXPECT_TRUE(client.is_closed());
        EXPECT_EQ(client.failure, errc::reset);
        client.on_opened = nullptr;
        client.failure = errc::none;
        server.received.clear();
    }
}
TEST_F(filtered_streams, the_end_leaves_the_other_direction_open) {
    connect();
    client.shutdown_write();
    run_until([&] { return server.log == "open end "; });
    server.write("still here");
    run_until([&] { return client.received == "still here"; });
    EXPECT_TRUE(server.is_open());
    server.shutdown_write();
    run_until([&] { return client.log.ends_with("end "); });
}
TEST_F(filtered_streams, a_bare_end_of_the_connection_is_a_failure) {
    connect_to_raw_server();
    server.write("yo!" + veiled("half"));
    server.shutdown_write();
    run_until([&] { return client.is_closed(); });
    EXPECT_EQ(client.failure, errc::truncated);
    EXPECT_EQ(client.received, "half");
    EXPECT_EQ(client.log,
              "connected open failed: the connection's end, without the peer's word that it has "
              "sent all ");
}
TEST_F(filtered_streams, end_in_the_handshake) {
    connect_to_raw_server();
    server.write("yo");
    server.shutdown_write();
    run_until([&] { return client.is_closed(); });
    EXPECT_EQ(client.failure, errc::truncated);
    EXPECT_EQ(client.log, "connected failed: handshake: the peer closed the connection ");
}
TEST_F(filtered_streams, reset_in_the_handshake) {
    connect_to_raw_server();
    server.close(true);
    run_until([&] { return client.is_closed(); });
    EXPECT_EQ(client.failure, errc::reset);
    EXPECT_EQ(client.log, "connected failed: handshake: Connection reset by peer ");
}
TEST_F(filtered_streams, a_failure_keeps_its_reason_and_tells_the_peer) {
    connect_to_raw_server();
    server.write("yoxxx");
    run_until([&] { return client.is_closed(); });
    EXPECT_EQ(client.failure, errc::tls_failed);
    EXPECT_EQ(client.log, "connected failed: handshake: not a toy ");
    run_until([&] { return server.log == "end "; });
    EXPECT_EQ(server.received, "hi!!!");
}
TEST_F(filtered_streams, a_failure_while_sending_is_told_from_the_loop) {
    connect();
    client.write("unsendable");
    EXPECT_FALSE(client.flush());
    EXPECT_FALSE(client.flush());
    EXPECT_EQ(client.log, "connected open ");
    run_until([&] { return client.is_closed(); });
    EXPECT_EQ(client.log, "connected open failed: cannot send this ");

    connect();
    client.write("unsendable");
    run_until([&] { return client.is_closed(); });
    EXPECT_TRUE(client.log.ends_with("connected open failed: cannot send this ")) << client.log;
}
TEST_F(filtered_streams, close_says_goodbye_and_reset_does_not) {
    connect();
    client.close();
    run_until([&] { return server.log == "open end "; });
    connect();
    client.close(true);
    run_until([&] { return server.is_closed(); });
    EXPECT_EQ(server.failure, errc::reset);
}

}  // namespace wire::stream_filter_ends_test
