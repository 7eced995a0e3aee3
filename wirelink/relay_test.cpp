// The relay on the real path: UDP packets from one namespace through both TUN devices to the other.
// Prints how punctual it is and how much it carries; neither is asserted, since both are the
// host's.
#include "relay.hpp"

#include "namespaces.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>

namespace wirelink::relay_test {

using namespace std::chrono_literals;

constexpr std::uint16_t port = 9;  // discard

// The clock of the kernel's own receive timestamps, which leave out how late this test reads.
nanoseconds now() { return std::chrono::system_clock::now().time_since_epoch(); }

sockaddr_in address_of(const std::string& text) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    ::inet_pton(AF_INET, text.c_str(), &address.sin_addr);
    return address;
}

// A socket belongs to the namespace in which it was made, wherever the process goes afterwards.
int udp_socket() { return ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); }

struct stamped {
    nanoseconds sent;
    std::uint64_t number;
    std::array<std::byte, 1384> filler;
};

// Both ends and the thread that carries packets between them.
class link {
public:
    explicit link(const path_options& each_way) : up_(each_way), down_(each_way) {
        become_root_in_user_namespace();
        server_.emplace("198.18.0.1");
        server_->add_tun("wan0");
        receiver = udp_socket();
        const int room = 64 << 20;
        ::setsockopt(receiver, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
        const int on = 1;
        ::setsockopt(receiver, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
        const sockaddr_in own = address_of(server_->address);
        ::bind(receiver, reinterpret_cast<const sockaddr*>(&own), sizeof(own));
        client_.emplace("198.18.0.2");
        client_->add_tun("wan0");
        sender = udp_socket();
        ::connect(sender, reinterpret_cast<const sockaddr*>(&own), sizeof(own));
        carrier_ = std::thread([this] {
            realtime = become_punctual();
            late_ = relay(server_->tun, client_->tun, up_, down_, stop_);
        });
    }
    ~link() {
        if (carrier_.joinable()) stop();
        for (int descriptor : {receiver, sender, stop_}) ::close(descriptor);
    }

    // Carries no more packets, and returns how late those before left the link.
    lateness stop() {
        const std::uint64_t one = 1;
        EXPECT_EQ(::write(stop_, &one, sizeof(one)), ssize_t{sizeof(one)});
        carrier_.join();
        return late_;
    }

    // Nothing when no packet comes for this long.
    std::optional<stamped> next(nanoseconds& arrived, int patience_ms) const {
        pollfd readable{receiver, POLLIN, 0};
        if (::poll(&readable, 1, patience_ms) <= 0) return std::nullopt;
        stamped packet{};
        iovec data{&packet, sizeof(packet)};
        alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(timespec))> room{};
        msghdr message{};
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        message.msg_control = room.data();
        message.msg_controllen = room.size();
        if (::recvmsg(receiver, &message, 0) <= 0) return std::nullopt;
        timespec stamp{};
        if (const cmsghdr* first = CMSG_FIRSTHDR(&message))
            std::memcpy(&stamp, CMSG_DATA(first), sizeof(stamp));
        arrived = std::chrono::seconds(stamp.tv_sec) + nanoseconds(stamp.tv_nsec);
        return packet;
    }

    const path_counters& carried() const { return up_.counters(); }

    int receiver = -1;
    int sender = -1;
    bool realtime = false;

private:
    delay_line up_;
    delay_line down_;
    std::optional<endpoint> server_;
    std::optional<endpoint> client_;
    int stop_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    lateness late_;
    std::thread carrier_;
};

// Runs the body in a process of its own, since to enter a namespace is for good. 77: the host has
// no namespaces for us.
template <typename Body> int in_a_process(Body&& body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        int code = 77;
        try {
            body();
            code = ::testing::Test::HasFailure() ? 1 : 0;
        } catch (const setup_error& error) {
            std::printf("%s\n", error.what());
        }
        std::fflush(nullptr);
        ::_exit(code);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void print_punctuality(std::vector<nanoseconds>& late, bool realtime) {
    std::sort(late.begin(), late.end());
    const auto at = [&](std::size_t per_mille) {
        return static_cast<double>(late[(late.size() - 1) * per_mille / 1000].count()) / 1e6;
    };
    std::printf(
        "%s scheduling\nfrom send to receive, later than the delay by p50 %.3f ms, p99 %.3f ms, "
        "p99.9 %.3f ms, max %.3f ms\n",
        realtime ? "real-time" : "ordinary", at(500), at(990), at(999), at(1000));
}

TEST(relay, delivers_20000_packets_a_second_after_the_delay_and_in_order) {
    const int code = in_a_process([] {
        constexpr std::uint64_t count = 40'000;
        constexpr auto gap = 50us;
        link path({.delay = 27ms});
        std::thread sending([&] {
            become_punctual();
            nanoseconds due = now();
            for (std::uint64_t number = 0; number < count; ++number, due += gap) {
                while (now() < due) std::this_thread::sleep_for(due - now());
                const stamped packet{.sent = now(), .number = number, .filler = {}};
                // A small packet: the stamp and the number.
                ::send(path.sender, &packet, offsetof(stamped, filler), 0);
            }
        });
        std::vector<nanoseconds> late;
        std::uint64_t expected = 0;
        nanoseconds arrived{};
        while (const auto packet = path.next(arrived, 1000)) {
            EXPECT_GE(packet->number, expected);
            expected = packet->number + 1;
            late.push_back(arrived - packet->sent - 27ms);
            EXPECT_GE(late.back(), 0ns);
        }
        sending.join();
        ASSERT_FALSE(late.empty());
        std::printf("%zu of %zu arrived; ", late.size(), std::size_t{count});
        print_punctuality(late, path.realtime);
        const lateness own = path.stop();
        const auto at = [&own](double share) {
            return static_cast<double>(own.quantile(share).value().count()) / 1e3;
        };
        std::printf("of that, the link itself: p50 %.3f ms, p99 %.3f ms, p99.9 %.3f ms\n", at(0.5),
                    at(0.99), at(0.999));
    });
    if (code == 77) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(code, 0);
}

TEST(relay, carries_what_it_can_of_a_flood_and_counts_the_rest) {
    const int code = in_a_process([] {
        link path({.delay = 1ms, .queue_packets = delay_line::max_packets_in_flight});
        std::atomic<bool> enough = false;
        std::thread sending([&] {
            for (std::uint64_t number = 0; !enough; ++number) {
                const stamped packet{.sent = now(), .number = number, .filler = {}};
                ::send(path.sender, &packet, sizeof(packet), 0);
            }
        });
        const nanoseconds begun = now();
        std::uint64_t packets = 0;
        nanoseconds arrived{};
        while (now() - begun < 1s && path.next(arrived, 1000)) ++packets;
        const double seconds = std::chrono::duration<double>(now() - begun).count();
        enough = true;
        sending.join();
        EXPECT_GT(packets, 0U);
        std::printf("one way, packets of 1,428 bytes: %.0f packets/s, %.2f Gbit/s\n",
                    static_cast<double>(packets) / seconds,
                    static_cast<double>(packets) * 1428 * 8 / seconds / 1e9);
    });
    if (code == 77) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(code, 0);
}

TEST(relay, a_burst_waits_until_it_is_taken_and_more_than_that_is_counted) {
    const int code = in_a_process([] {
        become_root_in_user_namespace();
        endpoint client("198.18.0.2");
        client.add_tun("wan0");
        const int sender = udp_socket();
        const sockaddr_in other = address_of("198.18.0.1");
        ::connect(sender, reinterpret_cast<const sockaddr*>(&other), sizeof(other));
        const auto send = [&](int count) {
            for (int i = 0; i < count; ++i) ::send(sender, "x", 1, 0);
        };
        const auto take_all = [&] {
            std::array<std::byte, 2048> packet{};
            int taken = 0;
            while (::read(client.tun, packet.data(), packet.size()) > 0) ++taken;
            return taken;
        };
        send(5'000);
        EXPECT_EQ(client.missed("wan0"), 0U);
        EXPECT_GE(take_all(), 5'000);
        send(20'000);
        const int taken = take_all();
        const auto missed = client.missed("wan0");
        ASSERT_TRUE(missed);
        EXPECT_GT(*missed, 0U);
        EXPECT_GE(static_cast<std::uint64_t>(taken) + *missed, 20'000U);
        ::close(sender);
    });
    if (code == 77) GTEST_SKIP() << "no network namespaces here";
    EXPECT_EQ(code, 0);
}

}  // namespace wirelink::relay_test
