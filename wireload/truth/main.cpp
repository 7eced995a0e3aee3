// truth_server: see law.hpp for what it knows, README.md for what it is for.
#include <sched.h>
#include <sys/signalfd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/duration.hpp"
#include "broadcast_server.hpp"
#include "server.hpp"

namespace {

constexpr int exit_usage = 64, exit_broken = 70;

bool pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

struct outputs {
    std::string json, samples;
};

int complain(const std::string& text) {
    std::fputs(fmt::format("truth_server: {}\n", text).c_str(), stderr);
    return exit_usage;
}

// Readable when the server is to end. Before the port is said: who knows it may end us at once.
int stop_signals() {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, nullptr);
    return signalfd(-1, &ends, SFD_CLOEXEC);
}

int serve_broadcasts(const std::vector<std::string>& words, const truth::broadcast_faults& faults,
                     std::uint16_t port) {
    const auto delay = words.size() == 2 ? wireload::parse_duration(words[1])
                                         : decltype(wireload::parse_duration("")){};
    if (!delay) return complain("broadcast: expected a duration such as 10ms");
    const int stop = stop_signals();
    truth::broadcast_server server(delay->count(), faults, port);
    std::printf("port %u\n", server.port());
    std::fflush(stdout);
    server.run(stop);
    std::fputs((server.what_was_done().dump(2) + "\n").c_str(), stdout);
    return std::fflush(stdout) == 0 ? 0 : exit_broken;
}

int serve(std::unique_ptr<truth::law> law, const truth::faults& faults, std::uint16_t port,
          const outputs& to) {
    const int stop = stop_signals();

    std::ofstream json_file, samples_file;
    for (auto& [file, path] :
         {std::pair{&json_file, &to.json}, std::pair{&samples_file, &to.samples}}) {
        if (path->empty()) continue;
        file->open(*path, std::ios::binary);
        if (!*file)
            return complain(fmt::format("{}: cannot write this file; give another name", *path));
    }
    truth::server server(std::move(law), faults, port);
    std::printf("port %u\n", server.port());
    std::fflush(stdout);
    server.run(stop);

    const std::string text = server.what_was_done().to_json().dump(2) + "\n";
    if (json_file.is_open()) {
        json_file << text << std::flush;
    } else {
        std::fputs(text.c_str(), stdout);
    }
    if (samples_file.is_open()) {
        server.what_was_done().write_samples(samples_file);
        samples_file.flush();
    }
    if (json_file.good() && samples_file.good() && std::fflush(stdout) == 0) return 0;
    complain("what was done could not be written whole; is the disk full?");
    return exit_broken;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{
        "Answers HTTP requests on 127.0.0.1 with delays and faults that are known exactly, and "
        "says what it did.\n\n"
        "LAW is one of\n"
        "  constant D              every request waits D\n"
        "  slow N D                every Nth request waits D, the others not at all\n"
        "  bimodal D1 D2 PERCENT   PERCENT of the requests wait D2, the others D1\n"
        "  drift D0 D1 T           the wait grows from D0 to D1 over T, from the first request on\n"
        "  freeze LENGTH PERIOD SERVICE\n"
        "                          nothing leaves in the last LENGTH of every PERIOD from the "
        "first request on;\n"
        "                          otherwise one request is served after the other, each for "
        "SERVICE\n"
        "  broadcast D             WebSocket: each message goes to all connections after D\n\n"
        "Prints 'port N' when it listens. Ends on SIGTERM and then writes what it did as JSON.",
        "truth_server"};
    std::vector<std::string> words;
    outputs to;
    int port = 0, cpu = -1;
    truth::faults faults;
    truth::broadcast_faults broadcast_faults;
    app.add_option("LAW", words, "the law and its numbers")->required();
    app.add_option("--port", port, "listen there (default: any free port)")
        ->check(CLI::Range(0, 65535));
    app.add_option("--cpu", cpu, "run on this CPU only")->check(CLI::Range(0, CPU_SETSIZE - 1));
    app.add_option("--drop", faults.drop, "close the connection instead of every Nth answer");
    app.add_option("--wrong-status", faults.status, "every Nth answer has status 500");
    app.add_option("--wrong-body", faults.body,
                   "every Nth answer has another body of the same length");
    app.add_option("--wrong-length", faults.length, "every Nth answer has a shorter body");
    app.add_option("--lose", broadcast_faults.lose, "broadcast: every Nth delivery is left out");
    app.add_option("--twice", broadcast_faults.twice,
                   "broadcast: every Nth delivery is made twice");
    app.add_option("--wrong", broadcast_faults.wrong, "broadcast: every Nth has other bytes");
    app.add_option("--swap", broadcast_faults.swap,
                   "broadcast: every Nth waits until that connection has the next message");
    app.add_option("--json", to.json, "write what was done to this file, not to standard output");
    app.add_option("--samples", to.samples,
                   "write every answer to this file: when its request arrived (Unix ns), the delay "
                   "by the law, the real one, "
                   "each as a little-endian 64-bit number");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_usage;
    }
    if (cpu >= 0 && !pin(cpu))
        return complain(fmt::format("--cpu {}: this process may not run there", cpu));
    try {
        if (words[0] == "broadcast")
            return serve_broadcasts(words, broadcast_faults, static_cast<std::uint16_t>(port));
        auto law = truth::parse_law(words);
        if (const auto* problem = std::get_if<std::string>(&law)) return complain(*problem);
        return serve(std::move(std::get<std::unique_ptr<truth::law>>(law)), faults,
                     static_cast<std::uint16_t>(port), to);
    } catch (const std::exception& broken) {
        complain(broken.what());
        return exit_broken;
    }
}
