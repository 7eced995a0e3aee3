// Short runs: counts are exact, times at least what the law says and recorded as they were.
#include "server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace truth::server_test {

constexpr std::string_view request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

class served {
public:
    explicit served(const std::string& law, const faults& f = {}) {
        std::istringstream in(law);
        const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
        server_ = std::make_unique<server>(
            std::move(std::get<std::unique_ptr<class law>>(parse_law(words))), f, 0);
        begin();
    }
    ~served() {
        end();
        ::close(stop_);
    }
    void begin() {
        thread_ = std::thread([this] { server_->run(stop_); });
    }
    const record& end() {
        if (thread_.joinable()) {
            const std::uint64_t one = 1;
            EXPECT_EQ(write(stop_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
            thread_.join();
            std::uint64_t taken = 0;
            EXPECT_EQ(read(stop_, &taken, sizeof taken), static_cast<ssize_t>(sizeof taken));
        }
        return server_->what_was_done();
    }
    int connect() const {
        const int fd = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(server_->port());
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
        const timeval patience{.tv_sec = 10, .tv_usec = 0};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        return fd;
    }

private:
    int stop_ = eventfd(0, EFD_CLOEXEC);
    std::unique_ptr<server> server_;
    std::thread thread_;
};

// Waits until the kernel stamps packets as they arrive. It begins to do so in a work queue, some
// time after the first socket has asked for it; packets before that are stamped when they are read.
void await_arrival_stamps() {
    using namespace std::chrono_literals;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ASSERT_EQ(setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on), 0);
    sockaddr_in self{};
    self.sin_family = AF_INET;
    self.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof self;
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&self), size), 0);
    ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&self), &size), 0);
    for (bool stamped = false; !stamped;) {
        char byte = 0;
        ASSERT_EQ(sendto(fd, &byte, 1, 0, reinterpret_cast<sockaddr*>(&self), size), 1);
        std::this_thread::sleep_for(5ms);
        iovec bytes{.iov_base = &byte, .iov_len = 1};
        alignas(cmsghdr) char space[CMSG_SPACE(sizeof(timespec))];
        msghdr message{};
        message.msg_iov = &bytes;
        message.msg_iovlen = 1;
        message.msg_control = space;
        message.msg_controllen = sizeof space;
        timespec read_at{};
        clock_gettime(CLOCK_REALTIME, &read_at);
        ASSERT_EQ(recvmsg(fd, &message, 0), 1);
        const cmsghdr* note = CMSG_FIRSTHDR(&message);
        ASSERT_NE(note, nullptr);
        timespec at{};
        std::memcpy(&at, CMSG_DATA(note), sizeof at);
        stamped =
            (read_at.tv_sec - at.tv_sec) * 1'000'000'000 + read_at.tv_nsec - at.tv_nsec > 2'000'000;
    }
    ::close(fd);
}

// One reply; its status and body, "end" at the connection's end.
std::string read_reply(int fd) {
    std::string text;
    char c = 0;
    while (!text.ends_with("\r\n\r\n")) {
        if (recv(fd, &c, 1, 0) != 1) return "end";
        text += c;
    }
    const auto length =
        static_cast<std::size_t>(std::stoi(text.substr(text.find("Content-Length: ") + 16)));
    std::string body(length, '\0');
    if (recv(fd, body.data(), length, MSG_WAITALL) != static_cast<ssize_t>(length)) return "cut";
    return text.substr(9, 3) + " " + body;
}

void ask_only(int fd) {
    EXPECT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
}

std::string ask(int fd) {
    ask_only(fd);
    return read_reply(fd);
}

TEST(truth_server, faults_come_exactly_as_often_as_they_should) {
    served s("constant 0ms", {.drop = 10, .status = 4, .body = 6, .length = 3});
    std::map<std::string, int> got;
    int fd = s.connect();
    for (int i = 0; i < 600; ++i) {
        const std::string reply = ask(fd);
        ++got[reply];
        if (reply == "end") {
            ::close(fd);
            fd = s.connect();
        }
    }
    ::close(fd);
    EXPECT_EQ(got, (std::map<std::string, int>{{"200 hello", 280},
                                               {"end", 60},
                                               {"500 hello", 120},
                                               {"200 hellO", 40},
                                               {"200 hell", 100}}));
    const counts& c = s.end().count;
    EXPECT_EQ(c.requests, 600U);
    EXPECT_EQ(c.right, 280U);
    EXPECT_EQ(c.dropped, 60U);
    EXPECT_EQ(c.wrong_status, 120U);
    EXPECT_EQ(c.wrong_body, 40U);
    EXPECT_EQ(c.wrong_length, 100U);
    EXPECT_EQ(c.unanswered, 0U);
    EXPECT_EQ(c.connections, 61U);
}

TEST(truth_server, its_record_begins_when_a_request_arrives_not_when_it_is_read) {
    using namespace std::chrono_literals;
    served s("constant 1ms");
    s.end();  // nobody reads now
    ASSERT_NO_FATAL_FAILURE(await_arrival_stamps());
    const int fd = s.connect();
    ask_only(fd);
    std::this_thread::sleep_for(60ms);
    s.begin();
    EXPECT_EQ(read_reply(fd), "200 hello");
    ::close(fd);
    const auto& samples = s.end().samples();
    ASSERT_EQ(samples.size(), 1U);
    EXPECT_EQ(samples[0].law, 1'000'000);
    EXPECT_GE(samples[0].really, 55'000'000);
}

TEST(truth_server, never_answers_before_the_law_and_records_what_it_did) {
    using namespace std::chrono;
    served s("slow 3 30ms");
    const int fd = s.connect();
    for (int i = 1; i <= 6; ++i) {
        const auto before = steady_clock::now();
        EXPECT_EQ(ask(fd), "200 hello");
        if (i % 3 == 0) {
            EXPECT_GE(steady_clock::now() - before, 30ms);
        }
    }
    ::close(fd);
    const record& r = s.end();
    ASSERT_EQ(r.samples().size(), 6U);
    nanos last = 0;
    for (std::size_t i = 0; i < 6; ++i) {
        const sample& one = r.samples()[i];
        EXPECT_EQ(one.law, i % 3 == 2 ? 30'000'000 : 0);
        EXPECT_GE(one.really, one.law);
        EXPECT_GT(one.received_unix, last);
        last = one.received_unix;
    }
    EXPECT_EQ(r.samples()[0].received_unix, r.anchor_unix);
    const auto document = r.to_json();
    EXPECT_EQ(document.at("requests"), 6);
    EXPECT_GE(document.at("delay_ns").at("p90").get<nanos>(), 30'000'000);
    EXPECT_LT(document.at("delay_ns").at("p50").get<nanos>(),
              document.at("delay_ns").at("max").get<nanos>());
}

TEST(truth_server, waits_for_many_at_the_same_time) {
    using namespace std::chrono;
    served s("constant 100ms");
    std::vector<int> fds;
    for (int i = 0; i < 50; ++i) fds.push_back(s.connect());
    for (const int fd : fds)
        ASSERT_EQ(send(fd, request.data(), request.size(), 0),
                  static_cast<ssize_t>(request.size()));
    for (const int fd : fds) {
        EXPECT_EQ(read_reply(fd), "200 hello");
        ::close(fd);
    }
    nanos first = 0, last = 0;
    for (const sample& one : s.end().samples()) {
        const nanos at = one.received_unix + one.law;
        first = first == 0 ? at : std::min(first, at);
        last = std::max(last, at);
    }
    // One after the other they would be due over five seconds.
    EXPECT_LT(last - first, 2'000'000'000);
}

TEST(truth_server, pipelined_requests_are_answered_in_order_also_in_pieces) {
    served s("slow 2 50ms", {.drop = 0, .status = 0, .body = 3, .length = 0});
    const int fd = s.connect();
    std::string four;
    for (int i = 0; i < 4; ++i) four += request;
    for (const char c : four) ASSERT_EQ(send(fd, &c, 1, 0), 1);
    EXPECT_EQ(read_reply(fd), "200 hello");
    EXPECT_EQ(read_reply(fd), "200 hello");
    EXPECT_EQ(read_reply(fd), "200 hellO");  // although the law would answer it before the second
    EXPECT_EQ(read_reply(fd), "200 hello");
    ::close(fd);
    EXPECT_EQ(s.end().count.requests, 4U);
}

TEST(truth_server, a_client_that_leaves_is_counted) {
    served s("constant 50ms");
    const int gone = s.connect();
    ASSERT_EQ(send(gone, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    ::close(gone);
    const int stays = s.connect();
    EXPECT_EQ(ask(stays), "200 hello");
    EXPECT_EQ(ask(stays), "200 hello");
    ::close(stays);
    const counts& c = s.end().count;
    EXPECT_EQ(c.requests, 3U);
    EXPECT_EQ(c.right + c.unanswered, 3U);
    EXPECT_GE(c.right, 2U);
}

}  // namespace truth::server_test
