// Streams that run through a toy filter, and notes of what happens to them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "wire/loop/listener.hpp"
#include "wire/loop/stream.hpp"
#include "wire/loop/stream_filter.hpp"

namespace wire::testing {

constexpr char veil = 0x5a;
constexpr unsigned char end_mark = 0;
constexpr unsigned char question = 255;  // makes the other side owe 1,000 bytes

inline std::string veiled(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t n = std::min<std::size_t>(text.size(), 254);
        out += static_cast<char>(n);
        for (const char c : text.substr(0, n)) out += static_cast<char>(c ^ veil);
        text.remove_prefix(n);
    }
    return out;
}

// A toy of the same shape as TLS: "hi!" and "yo!" are its handshake, a record is a length and
// veiled bytes, length 0 is the end.
class toy final : public stream_filter {
public:
    explicit toy(bool client) : client_(client) {}

    result<void> begin(buffer& to_peer) override {
        if (client_) to_peer.append("hi!");
        return {};
    }
    result<step> receive(std::span<const char> raw, std::span<char> plain,
                         buffer& to_peer) override {
        step s;
        while (!ended_ && (s.consumed < raw.size() || !ready_.empty())) {
            if (!ready_.empty()) {
                const std::size_t n = std::min(ready_.size(), plain.size() - s.produced);
                std::copy_n(ready_.data(), n, plain.data() + s.produced);
                ready_.erase(0, n);
                s.produced += n;
                if (s.produced == plain.size()) return s;
                continue;
            }
            part_ += raw[s.consumed++];
            const auto first = static_cast<unsigned char>(part_[0]);
            if (!open_) {
                const std::string expected = client_ ? "yo!" : "hi!";
                if (expected.compare(0, part_.size(), part_) != 0) {
                    to_peer.append("!!");
                    return error(errc::tls_failed, "handshake: not a toy");
                }
                if (part_ != expected) continue;
                part_.clear();
                open_ = true;
                if (!client_) to_peer.append("yo!");
                return s;
            }
            if (first == end_mark) {
                ended_ = true;
            } else if (first == question) {
                to_peer.append(veiled(std::string(1000, 'a')));
                part_.clear();
            } else if (part_.size() == std::size_t{first} + 1) {
                for (const char c : part_.substr(1)) ready_ += static_cast<char>(c ^ veil);
                part_.clear();
            }
        }
        return s;
    }
    result<void> send(std::string_view plain, buffer& to_peer) override {
        if (plain.find("unsendable") != std::string_view::npos)
            return error(errc::tls_failed, "cannot send this");
        to_peer.append(veiled(plain));
        return {};
    }
    void finish(buffer& to_peer) noexcept override { to_peer.append(static_cast<char>(end_mark)); }
    bool is_open() const noexcept override { return open_; }
    bool has_ended() const noexcept override { return ended_; }

private:
    bool client_;
    bool open_ = false;
    bool ended_ = false;
    std::string part_;
    std::string ready_;
};

constexpr std::size_t scratch_bytes = 1 << 20;  // more than there is

// A stream that notes what happens to it.
struct probe : stream {
    std::string log;
    std::string received;
    errc failure = errc::none;
    unique_function<void()> on_opened;
    unique_function<void()> on_bytes;
    std::size_t most = scratch_bytes;  // received at a time
    int sends = 0;

    std::span<char> receive_space(std::span<char> scratch) override {
        return scratch.first(std::min(most, scratch.size()));
    }
    void on_connected() override { log += "connected "; }
    void on_open() override {
        log += "open ";
        if (on_opened) on_opened();
    }
    void on_data(std::span<char> bytes) override {
        received.append(bytes.data(), bytes.size());
        if (on_bytes) on_bytes();
    }
    void on_end() override { log += "end "; }
    void on_failure(const error& why) override {
        failure = why.code;
        log += "failed: " + why.message + " ";
    }
    void before_send() override { ++sends; }
    void on_drained() override { log += "drained "; }
};

class filtered_streams : public ::testing::Test {
protected:
    void SetUp() override {
        auto made = event_loop::create();
        ASSERT_TRUE(made);
        loop = *std::move(made);
        auto listening = listen_tcp(address::loopback_v4(0));
        ASSERT_TRUE(listening) << listening.error().message;
        at = *local_address(listening->get());
        ASSERT_TRUE(door.start(*loop, *std::move(listening), [this](unique_fd fd, const address&) {
            if (server_filtered) server.set_filter(std::make_unique<toy>(false));
            EXPECT_TRUE(server.attach(*loop, std::move(fd)));
        }));
    }
    // Iterates until `done`; a test that hangs is ended by its runner.
    void run_until(const std::function<bool()>& done) {
        while (!done()) loop->run_once(std::chrono::milliseconds(100));
    }
    void some_iterations() {
        for (int i = 0; i < 5; ++i) loop->run_once(std::chrono::milliseconds(0));
    }
    void begin(bool client_is = true, bool server_is = true) {
        server_filtered = server_is;
        if (client_is) client.set_filter(std::make_unique<toy>(true));
        ASSERT_TRUE(client.connect(*loop, at));
    }
    void connect() {
        begin();
        run_until([&] { return server.is_open() && client.is_open(); });
    }
    // A filtered client, and a server that speaks raw bytes.
    void connect_to_raw_server() {
        begin(true, false);
        run_until([&] { return server.received == "hi!"; });
    }
    void connect_to_raw_client() {
        begin(false, true);
        run_until([&] { return client.is_open(); });
    }
    std::unique_ptr<event_loop> loop;
    listener door;
    address at;
    probe client;
    probe server;
    bool server_filtered = true;

    void TearDown() override {
        client.close();
        server.close();
        door.close();
    }
};

}  // namespace wire::testing
