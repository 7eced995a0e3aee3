// The floor server: what the server contract says, by the shortest route.
#include "event_loop.hpp"
#include "services.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

std::string text_of(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

long number_of(const char* name, const char* otherwise, long least, long most) {
    const auto text = text_of(name, otherwise);
    long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
        throw std::invalid_argument(std::string(name) + ": expected a number from " +
                                    std::to_string(least) + " to " + std::to_string(most) +
                                    ", got '" + text + "'");
    return value;
}

void set(int fd, int level, int option) {
    const int on = 1;
    if (setsockopt(fd, level, option, &on, sizeof on) < 0)
        throw std::system_error(errno, std::generic_category(), "setsockopt");
}

int listen_on(const std::string& host, const std::string& port, bool shared) {
    addrinfo hints{};
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int failure = getaddrinfo(host.c_str(), port.c_str(), &hints, &found))
        throw std::runtime_error("WIREBENCH_HOST " + host + ": " + gai_strerror(failure));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> address(found, freeaddrinfo);
    const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "socket");
    set(fd, SOL_SOCKET, SO_REUSEADDR);
    if (shared) set(fd, SOL_SOCKET, SO_REUSEPORT);
    set(fd, IPPROTO_TCP, TCP_NODELAY);  // accepted sockets inherit it
    if (bind(fd, found->ai_addr, found->ai_addrlen) < 0)
        throw std::system_error(errno, std::generic_category(), "bind " + host + ":" + port);
    if (listen(fd, 4096) < 0) throw std::system_error(errno, std::generic_category(), "listen");
    return fd;
}

std::unique_ptr<wirebench::service> make_service(std::string_view workload, std::int64_t delay_ns,
                                                 std::size_t threads) {
    if (workload == "http.hello") return wirebench::make_hello();
    if (workload == "http.payload") return wirebench::make_payload();
    if (workload == "rest") return wirebench::make_rest(delay_ns, threads);
    if (workload == "ws.echo") return wirebench::make_websocket(wirebench::websocket_kind::echo);
    if (workload == "ws.count") return wirebench::make_websocket(wirebench::websocket_kind::count);
    if (workload == "ws.broadcast")
        return wirebench::make_websocket(wirebench::websocket_kind::broadcast);
    throw std::invalid_argument(
        "WIREBENCH_WORKLOAD: expected http.hello, http.payload, rest, ws.echo, ws.count or "
        "ws.broadcast, got '" +
        std::string(workload) + "'");
}

void allow_many_files() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

// A count that others may read in the file at any time: 8 bytes in the machine's order. Null
// without a file.
std::atomic<std::uint64_t>* count_in(const std::string& file) {
    if (file.empty()) return nullptr;
    using count = std::atomic<std::uint64_t>;
    static_assert(count::is_always_lock_free && sizeof(count) == 8);
    const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(count)) < 0)
        throw std::system_error(errno, std::generic_category(), "WIREBENCH_ACCEPTED " + file);
    void* shared = mmap(nullptr, sizeof(count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    return new (shared) count(0);
}

void serve() {
    const auto workload = text_of("WIREBENCH_WORKLOAD", "");
    const auto host = text_of("WIREBENCH_HOST", "127.0.0.1");
    const auto port = std::to_string(number_of("WIREBENCH_PORT", "", 1, 65535));
    const auto threads = static_cast<std::size_t>(number_of("WIREBENCH_THREADS", "1", 1, 1024));
    const auto delay_ns =
        std::int64_t{number_of("WIREBENCH_DELAY_MS", "0", 0, 3'600'000)} * 1'000'000;
    // `rest`: see make_rest. A broadcast is to reach all connections.
    const auto loops = workload == "rest" || workload == "ws.broadcast" ? 1 : threads;

    const auto certificate = text_of("WIREBENCH_TLS_CERT", "");
    const auto tls = certificate.empty() ? nullptr
                                         : wirebench::make_server_context(
                                               certificate, text_of("WIREBENCH_TLS_KEY", ""),
                                               text_of("WIREBENCH_TLS_SESSIONS", ""));

    allow_many_files();
    auto* const accepted = count_in(text_of("WIREBENCH_ACCEPTED", ""));
    // Threads above one are processes, so that each has open files of its own. All of their sockets
    // listen before any process accepts.
    std::vector<int> listeners;
    for (std::size_t i = 0; i < loops; ++i) listeners.push_back(listen_on(host, port, loops > 1));
    while (listeners.size() > 1 && fork() != 0) {
        close(listeners.back());
        listeners.pop_back();
    }
    const int own = listeners.back();
    listeners.pop_back();
    if (!listeners.empty()) prctl(PR_SET_PDEATHSIG, SIGTERM);
    for (const int other : listeners) close(other);
    const auto service = make_service(workload, delay_ns, threads);
    wirebench::event_loop(own, *service, tls.get(), accepted).run();
}

}  // namespace

int main() {
    std::signal(SIGTERM, [](int) { _exit(0); });
    std::signal(SIGINT, [](int) { _exit(0); });
    std::signal(SIGPIPE, SIG_IGN);
    try {
        serve();
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "floor server: %s\n", failure.what());
        return 1;
    }
}
