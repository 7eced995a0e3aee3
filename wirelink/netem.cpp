// Runs `ip` and `tc`, which know the netlink messages of every kernel that has netem.
#include "netem.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cmath>

namespace wirelink {
namespace {

struct finished {
    int code = -1;
    std::string output;
};

// Runs a program of the user's PATH; `prepare` in the new process before it. Code 127: not there.
template <typename Prepare> finished run(const command& words, Prepare&& prepare) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) < 0) return {};
    const pid_t child = ::fork();
    if (child == 0) {
        std::vector<char*> arguments;
        for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        ::dup2(ends[1], STDOUT_FILENO);
        ::dup2(ends[1], STDERR_FILENO);
        if (prepare()) ::execvp(arguments[0], arguments.data());
        ::_exit(127);
    }
    ::close(ends[1]);
    finished out;
    std::array<char, 4096> part{};
    ssize_t size = 0;
    while ((size = ::read(ends[0], part.data(), part.size())) > 0 || (size < 0 && errno == EINTR)) {
        if (size > 0) out.output.append(part.data(), static_cast<std::size_t>(size));
    }
    ::close(ends[0]);
    int status = 0;
    if (child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status))
        out.code = WEXITSTATUS(status);
    return out;
}

finished run(const command& words) {
    return run(words, [] { return true; });
}

void must_run(const command& words) {
    const auto [code, output] = run(words);
    if (code == 0) return;
    const std::string why = code == 127 ? "not found; install iproute2" : output;
    throw setup_error(fmt::format("{}: {}", fmt::join(words, " "), why));
}

std::string micros(nanoseconds time) { return fmt::format("{}us", time.count() / 1000); }
std::string percent(double share) { return fmt::format("{}%", share * 100); }

// netem's limit counts packets under way too, those of full size here.
std::size_t limit_of(const path_options& options) {
    if (options.rate_bits_per_second == 0) return delay_line::max_packets_in_flight;
    constexpr double full_packet_bits = 1500 * 8;
    const double seconds = std::chrono::duration<double>(options.delay).count();
    const double rate = static_cast<double>(options.rate_bits_per_second);
    return options.queue_packets +
           static_cast<std::size_t>(std::ceil(seconds * rate / full_packet_bits));
}

}  // namespace

command netem_command(const std::string& device, const path_options& options) {
    const std::string limit = fmt::format("{}", limit_of(options));
    command words{"tc",     "qdisc", "add",   "dev",   device, "root",
                  "handle", "1:",    "netem", "limit", limit};
    const auto add = [&words](std::initializer_list<std::string> more) {
        words.insert(words.end(), more);
    };
    // Without a rate netem sends packets in the order of their due times, so jitter would reorder.
    // With one, a packet leaves no earlier than the one before it. This rate, of 0.4 us a packet,
    // is the highest round one whose bytes a second are a 32-bit number, which every tc takes.
    constexpr std::uint64_t keeping_order = 32'000'000'000;
    std::uint64_t rate = options.rate_bits_per_second;
    if (rate == 0 && options.jitter.count() > 0 && options.reorder == 0) rate = keeping_order;
    if (options.delay.count() > 0) {
        add({"delay", micros(options.delay)});
        if (options.jitter.count() > 0) add({micros(options.jitter)});
        if (options.reorder > 0) add({"reorder", percent(options.reorder)});
    }
    if (options.loss > 0) add({"loss", percent(options.loss)});
    if (rate > 0) add({"rate", fmt::format("{}bit", rate)});
    return words;
}

bool netem_works() {
    return run({"tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"}, [] {
               return ::unshare(CLONE_NEWNET) == 0;
           }).code == 0;
}

void join_by_netem(const endpoint& server, const endpoint& client, const std::string& device,
                   const path_options& upstream, const path_options& downstream) {
    const std::string server_mac = "02:00:00:00:00:01";
    const std::string client_mac = "02:00:00:00:00:02";
    client.enter();
    must_run({"ip", "link", "add", device, "address", client_mac, "type", "veth", "peer", "name",
              device, "address", server_mac, "netns", std::to_string(server.holder)});
    const auto set_up = [&](const endpoint& end, const endpoint& other,
                            const std::string& other_mac, const path_options& sends) {
        end.enter();
        configure(device, end.address, "255.255.255.0");
        // To ask for it would cost the first packet a round trip of the link, and more on a loss.
        must_run({"ip", "neigh", "replace", other.address, "lladdr", other_mac, "dev", device,
                  "nud", "permanent"});
        // netem counts a segment that the device is to split as one packet.
        must_run({"ip", "link", "set", "dev", device, "gso_max_segs", "1"});
        must_run(netem_command(device, sends));
    };
    set_up(client, server, server_mac, upstream);
    set_up(server, client, client_mac, downstream);
}

std::optional<netem_counters> parse_netem_counters(const std::string& json) {
    const auto netem = json.find(R"("kind":"netem")");
    const auto number = [&](const char* key) {
        const auto found = json.find(key, netem);
        return found == std::string::npos
                   ? std::uint64_t{0}
                   : std::strtoull(json.c_str() + found + std::char_traits<char>::length(key),
                                   nullptr, 10);
    };
    if (netem == std::string::npos) return std::nullopt;
    return netem_counters{.forwarded = number(R"("packets":)"),
                          .bytes = number(R"("bytes":)"),
                          .dropped = number(R"("drops":)")};
}

std::optional<netem_counters> netem_counters_of(const endpoint& sender, const std::string& device) {
    sender.enter();
    return parse_netem_counters(run({"tc", "-s", "-j", "qdisc", "show", "dev", device}).output);
}

}  // namespace wirelink
