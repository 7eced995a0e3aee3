// wirelink: a wide-area link on one machine. Two network namespaces and, between them, something
// that delays, limits, loses and reorders IP packets: the kernel's netem, or a TUN device at each
// end and this process. Handshakes, slow start and delayed acknowledgements cost what they cost on
// a real path, which a TCP proxy cannot imitate.
#include "delay_line.hpp"
#include "namespaces.hpp"
#include "netem.hpp"
#include "recorder.hpp"
#include "relay.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace {

using std::chrono::nanoseconds;
using wirelink::delay_line;
using wirelink::endpoint;

constexpr int exit_setup = 2;   // the link could not be made
constexpr int exit_usage = 64;  // sysexits(3) EX_USAGE

std::string counters_json(const wirelink::path_counters& counters,
                          std::optional<std::uint64_t> missed) {
    return fmt::format(
        R"({{"forwarded":{},"bytes":{},"lost":{},"overflowed":{},"reordered":{},"missed":{}}})",
        counters.forwarded, counters.bytes, counters.lost, counters.overflowed, counters.reordered,
        missed ? fmt::format("{}", *missed) : std::string("null"));
}

std::string counters_json(const std::optional<wirelink::netem_counters>& counters) {
    if (!counters) return "null";
    return fmt::format(R"({{"forwarded":{},"bytes":{},"dropped":{}}})", counters->forwarded,
                       counters->bytes, counters->dropped);
}

std::string lateness_json(const wirelink::lateness& late) {
    const auto at = [&late](double share) {
        const auto micros = late.quantile(share);
        return micros ? fmt::format("{}", micros->count() * 1000) : std::string("null");
    };
    return fmt::format(R"({{"p50":{},"p99":{},"max":{}}})", at(0.5), at(0.99), at(1));
}

// Where to write a record of the first packets; no path means none.
struct record_options {
    std::string path;
    std::size_t packets = 20'000;
};

// netem does not say when a packet was sent, or that it was lost: a record needs the relay.
bool choose_netem(const std::string& emulator, bool recorded) {
    if (emulator != "auto") return emulator == "netem";
    const bool relay = ::access("/dev/net/tun", R_OK | W_OK) == 0;
    return (!recorded || !relay) && wirelink::netem_works();
}

// A line on standard output. Whoever started the link waits for the first and reads the last.
void say(const std::string& line) {
    if (std::fputs((line + "\n").c_str(), stdout) < 0 || std::fflush(stdout) != 0)
        throw std::system_error(errno, std::generic_category(), "standard output");
}

void wait_readable(int descriptor) {
    pollfd one{descriptor, POLLIN, 0};
    while (::poll(&one, 1, -1) < 0 && errno == EINTR) {}
}

int run(const wirelink::path_options& each_way, const std::string& emulator,
        const record_options& wanted) {
    // As the user who asked, and before anything depends on it.
    std::FILE* file = wanted.path.empty() ? nullptr : std::fopen(wanted.path.c_str(), "we");
    if (!wanted.path.empty() && file == nullptr)
        throw std::system_error(errno, std::generic_category(), wanted.path);

    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &ending, nullptr);
    const int signals = ::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);

    wirelink::become_root_in_user_namespace();
    // After the change of user, which may reset it.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const bool netem = choose_netem(emulator, file != nullptr);
    std::optional<wirelink::recorder> record;
    if (file != nullptr && !netem) record.emplace(wanted.packets);

    const std::string device = "wan0";
    wirelink::path_options back = each_way;
    back.seed += 1;
    // 198.18.0.0/15 is set apart for benchmarks of network devices (RFC 2544) and routed nowhere.
    endpoint server("198.18.0.1");
    if (!netem) server.add_tun(device);
    endpoint client("198.18.0.2");
    if (!netem) client.add_tun(device);
    if (netem) wirelink::join_by_netem(server, client, device, each_way, back);

    // After the holders have been started, which need no priority.
    const bool realtime = !netem && wirelink::become_punctual();
    say(fmt::format(
        R"({{"schema":"wirelink/1","server":{{"pid":{},"address":"{}"}},"client":{{"pid":{},"address":"{}"}},)"
        R"("rtt_ns":{},"jitter_ns":{},"rate_bits_per_second":{},"loss":{},"reorder":{},"queue_packets":{},"seed":{},)"
        R"("emulator":"{}","recorded":{},"realtime":{}}})",
        server.holder, server.address, client.holder, client.address, 2 * each_way.delay.count(),
        each_way.jitter.count(), each_way.rate_bits_per_second, each_way.loss, each_way.reorder,
        each_way.queue_packets, each_way.seed, netem ? "netem" : "tun", record.has_value(),
        realtime));
    if (netem) {
        wait_readable(signals);
        say(fmt::format("{{\"upstream\":{},\"downstream\":{}}}",
                        counters_json(wirelink::netem_counters_of(client, device)),
                        counters_json(wirelink::netem_counters_of(server, device))));
        if (file != nullptr) std::fclose(file);
        return 0;
    }
    delay_line upstream(each_way);
    delay_line downstream(back);
    const auto late = wirelink::relay(server.tun, client.tun, upstream, downstream, signals,
                                      record ? &*record : nullptr);
    const bool kept = !record || record->write(file);
    const int unwritten = file != nullptr && (std::fclose(file) != 0 || !kept) ? errno : 0;
    say(fmt::format("{{\"upstream\":{},\"downstream\":{},\"late_ns\":{}}}",
                    counters_json(upstream.counters(), client.missed(device)),
                    counters_json(downstream.counters(), server.missed(device)),
                    lateness_json(late)));
    if (unwritten != 0) throw std::system_error(unwritten, std::generic_category(), wanted.path);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    // What is opened next would take the number of an output that was closed, and get its lines.
    while (true) {
        const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (lowest > STDERR_FILENO) ::close(lowest);
        if (lowest < 0 || lowest > STDERR_FILENO) break;
    }
    CLI::App app{
        "Emulates a wide-area link between two network namespaces of this machine.\n\n"
        "Prints one JSON line that names a process in each namespace and the address of each end, "
        "then carries packets\n"
        "until SIGINT or SIGTERM, and ends with a JSON line of what it carried. Run a command at "
        "an end with\n"
        "  nsenter --net --target PID COMMAND                                as root\n"
        "  nsenter --user --preserve-credentials --net --target PID COMMAND  otherwise\n\n"
        "Without netem, this program carries the packets itself: some 120,000 packets/s (1.4 "
        "Gbit/s) one way on two cores,\n"
        "and at 20,000 packets/s 99 of 100 leave less than 0.1 ms late on a calm host. late_ns of "
        "its last line says how\n"
        "late they left this time.\n",
        "wirelink"};
    double rtt_ms = 0;
    double jitter_ms = 0;
    double rate_mbit = 0;
    double loss_percent = 0;
    double reorder_percent = 0;
    wirelink::path_options each_way;
    record_options record;
    app.add_option("--rtt-ms", rtt_ms, "Round trip of the link in ms; half of it each way")
        ->required()
        ->check(CLI::Range(0.0, 60'000.0));
    app.add_option("--jitter-ms", jitter_ms, "Uniform jitter each way, never reordering")
        ->check(CLI::Range(0.0, 60'000.0));
    app.add_option("--rate-mbit", rate_mbit, "Bottleneck each way in Mbit/s; 0 means none")
        ->check(CLI::Range(0.0, 1e6));
    app.add_option("--loss-percent", loss_percent, "Packets lost each way")
        ->check(CLI::Range(0.0, 100.0));
    app.add_option("--reorder-percent", reorder_percent, "Packets that overtake those before them")
        ->check(CLI::Range(0.0, 100.0));
    app.add_option("--queue-packets", each_way.queue_packets,
                   "Packets that may wait for the bottleneck")
        ->check(CLI::Range(std::size_t{1}, delay_line::max_packets_in_flight))
        ->needs("--rate-mbit");
    std::string emulator = "auto";
    app.add_option("--emulator", emulator,
                   "auto: the kernel's netem where it is, unless a record is wanted that tun can "
                   "give; netem ignores --seed")
        ->check(CLI::IsMember({"auto", "netem", "tun"}))
        ->capture_default_str();
    // An unsigned number would take -1 as its largest value.
    app.add_option("--seed", each_way.seed, "Seed of loss, reordering and jitter")
        ->check([](const std::string& text) {
            return text.find('-') == std::string::npos ? "" : "expected 0 or more, got " + text;
        });
    app.add_option(
        "--record", record.path,
        "At the end, write times, flags, numbers and lengths of TCP packets to this file; not "
        "with netem");
    app.add_option("--record-packets", record.packets, "Packets to record, the first ones")
        ->check(CLI::Range(std::size_t{1}, std::size_t{10'000'000}))
        ->needs("--record");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_usage;
    }
    // "nan" is a number to CLI11, and beyond neither end of a range.
    for (const auto& [name, value] :
         {std::pair{"--rtt-ms", rtt_ms}, std::pair{"--jitter-ms", jitter_ms},
          std::pair{"--rate-mbit", rate_mbit}, std::pair{"--loss-percent", loss_percent},
          std::pair{"--reorder-percent", reorder_percent}}) {
        if (std::isfinite(value)) continue;
        fmt::print(stderr, "wirelink: {}: expected a number, got {}\n", name, value);
        return exit_usage;
    }
    const auto milliseconds = [](double value) { return nanoseconds{std::llround(value * 1e6)}; };
    each_way.delay = milliseconds(rtt_ms / 2);
    each_way.jitter = milliseconds(jitter_ms);
    each_way.rate_bits_per_second = static_cast<std::uint64_t>(std::llround(rate_mbit * 1e6));
    each_way.loss = loss_percent / 100;
    each_way.reorder = reorder_percent / 100;
    // Less than a byte a second would be taken for none, which means no limit; by netem, too.
    if (rate_mbit > 0 && each_way.rate_bits_per_second < 8) {
        fmt::print(stderr,
                   "wirelink: --rate-mbit: expected 0, for no limit, or at least 8e-6 (a byte a "
                   "second), got {}\n",
                   rate_mbit);
        return exit_usage;
    }
    if (each_way.jitter > each_way.delay) {
        fmt::print(stderr,
                   "wirelink: --jitter-ms: expected at most half of --rtt-ms ({} ms), got {} ms\n",
                   rtt_ms / 2, jitter_ms);
        return exit_usage;
    }
    // It skips the delay, and would overtake nothing; tc-netem(8) refuses it as well.
    if (each_way.reorder > 0 && each_way.delay.count() == 0) {
        fmt::print(stderr,
                   "wirelink: --reorder-percent: a packet overtakes others by skipping the delay; "
                   "give a --rtt-ms above 0\n");
        return exit_usage;
    }
    // Most often a shell's variable that is not set: it must not pass for no record.
    if (app.count("--record") > 0 && record.path.empty()) {
        fmt::print(stderr, "wirelink: --record '': give a file, or leave it out\n");
        return exit_usage;
    }
    if (emulator == "netem" && !record.path.empty()) {
        fmt::print(stderr,
                   "wirelink: --record: netem does not say what passes; leave it out, or give "
                   "another --emulator\n");
        return exit_usage;
    }
    try {
        return run(each_way, emulator, record);
    } catch (const std::exception& error) {
        fmt::print(stderr, "wirelink: {}\n", error.what());
        return exit_setup;
    }
}
