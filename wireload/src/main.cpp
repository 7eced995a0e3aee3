// wireload: see help.cpp for what it does, run.cpp for how.
#ifdef WIREBENCH_STATIC
#include <nss.h>
#endif
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/version.hpp"
#include "command_line/command_line.hpp"
#include "engine/run.hpp"
#include "measure/cpu_quota.hpp"
#include "measure/process_watch.hpp"
#include "output/document.hpp"
#include "output/histogram_log.hpp"
#include "output/judgement.hpp"
#include "output/live_view.hpp"
#include "output/print_request.hpp"
#include "output/result_file.hpp"
#include "output/series_csv.hpp"
#include "output/summary.hpp"
#include "plan/plan.hpp"

namespace {

using namespace wireload;

// That it may run on, and keep busy within its quota.
unsigned allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return cpu_quota::of_process("self").usable(static_cast<unsigned>(CPU_COUNT(&set)));
}

// The descriptor of a standard stream that is closed would go to the first file or connection that
// is opened, and what is printed into that. It stays unusable, as in gnulib's stdopen: opened the
// wrong way round.
void occupy_closed_streams() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

void complain(const std::string& text) {
    std::fputs(fmt::format("wireload: {}\n", text).c_str(), stderr);
}

// Whether standard output has taken all that was written to it. What did not fit its buffer went
// earlier, and only the stream's state tells that it failed.
bool flush_output() {
    const bool flushed = std::fflush(stdout) == 0 && std::cout.flush().good();
    return flushed && std::ferror(stdout) == 0;
}

int not_written() {
    complain("the result could not be written whole; is the disk full?");
    return exit_nothing_measured;
}

void write_log(std::ostream& out, const plan& p, const run_result& r) {
    const auto start = std::chrono::nanoseconds(r.window_start_unix_ns);
    histogram_log_writer log(
        out, fmt::format("wireload {}, latencies in nanoseconds, {}", version_text(), p.asked.url),
        start);
    const std::vector<interval_span> spans = spans_of(p, r);
    for (std::size_t i = 0; i < spans.size(); ++i) {
        if (const std::optional<histogram> h = r.series->latencies_of(i)) {
            log.write(*h, std::chrono::nanoseconds(spans[i].start),
                      std::chrono::nanoseconds(spans[i].length));
        }
    }
}

bool good_terminal(int fd) {
    const char* const kind = std::getenv("TERM");
    return isatty(fd) == 1 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

// The live view goes to standard error, so that standard output can be kept.
view_maker live_on(const plan& p) {
    const options& o = p.asked;
    if (o.live == live_choice::never || !good_terminal(STDERR_FILENO)) return {};
    if (o.live == live_choice::automatic) {
        if (o.quiet) return {};
        if (!view_is_free(o, allowed_cpus())) {
            std::fputs(
                "no live view: it would share a measured CPU (--live always draws it anyway)\n",
                stderr);
            return {};
        }
    }
    return [&p](series_collector& series) {
        return std::make_unique<live_view>(p, series, STDERR_FILENO,
                                           style_for(STDERR_FILENO, p.asked.color));
    };
}

int exit_code(const plan& p, const run_result& r) {
    if (r.nothing_measured()) return exit_nothing_measured;
    bool errors_judged = false;
    for (const threshold& t : p.asked.thresholds) {
        if (fails(judge(t, r))) return exit_threshold;
        errors_judged = errors_judged || t.judges_errors();
    }
    // The few errors that it takes to end a run in which nothing works any more may be a share that
    // is allowed, of the many replies before.
    if (r.stopped_by == stop_reason::error) return exit_with_errors;
    return r.counts.errors.total() == 0 || errors_judged ? exit_ok : exit_with_errors;
}

// Why conditions fail that could not be decided: the summary would say it.
void say_undecided(const plan& p, const run_result& r) {
    for (const threshold& t : p.asked.thresholds) {
        const judgement j = judge(t, r);
        if (!j.holds)
            complain(fmt::format("--fail-if '{}': not decided: {}", t.text, j.why_undecided));
    }
}

int load(options asked) {
    auto made = make_plan(std::move(asked));
    if (const auto* problem = std::get_if<plan_problem>(&made)) {
        complain(problem->text);
        return problem->unresolved ? exit_nothing_measured : exit_usage;
    }
    const plan& p = *std::get<std::unique_ptr<plan>>(made);
    if (p.asked.print_request) {
        const std::string bytes = request_bytes(p);
        const std::string text = isatty(STDOUT_FILENO) == 1 ? for_terminal(bytes) : bytes;
        std::fwrite(text.data(), 1, text.size(), stdout);
        return flush_output() ? exit_ok : not_written();
    }
    if (p.asked.live == live_choice::always && !good_terminal(STDERR_FILENO)) {
        complain(
            "--live always: standard error is not a terminal that can be drawn on; leave it out, "
            "or run it on one");
        return exit_usage;
    }
    std::optional<process_watch> watch;
    if (!p.asked.watch.empty()) {
        auto opened = process_watch::open(p.asked.watch);
        if (const auto* problem = std::get_if<std::string>(&opened)) {
            complain(*problem);
            return exit_usage;
        }
        watch = std::get<process_watch>(std::move(opened));
    }
    // Last, and all of them first: a file of this name loses what it had.
    result_file json_file("--json", p.asked.json_path), log_file("--hdr-log", p.asked.hdr_log_path),
        csv_file("--csv", p.asked.csv_path);
    for (const auto step : {&result_file::open, &result_file::empty}) {
        for (result_file* const file : {&json_file, &log_file, &csv_file}) {
            const std::string problem = (file->*step)();
            if (problem.empty()) continue;
            complain(problem);
            return exit_usage;
        }
    }

    result_signals signals;
    auto outcome = run(p, watch ? &*watch : nullptr, live_on(p));
    signals.run_ended();
    if (const auto* problem = std::get_if<std::string>(&outcome)) {
        complain(*problem);
        return exit_nothing_measured;
    }
    const run_result& result = std::get<run_result>(outcome);

    // The files first, and each of them: a reader of standard output that has left, or reads no
    // more, costs none.
    const auto write_json = [&](std::ostream& out) { out << to_text(to_document(p, result)); };
    const auto write_hdr = [&](std::ostream& out) { write_log(out, p, result); };
    const auto write_series = [&](std::ostream& out) { write_csv(out, p, result); };
    bool written = json_file.fill(write_json);
    written = log_file.fill(write_hdr) && written;
    written = csv_file.fill(write_series) && written;
    const bool json_taken = p.asked.json_path == "-", log_taken = p.asked.hdr_log_path == "-",
               csv_taken = p.asked.csv_path == "-";
    if (!p.asked.quiet) {
        std::FILE* const screen = json_taken || log_taken || csv_taken ? stderr : stdout;
        std::fputs(summary(p, result, style_for(fileno(screen), p.asked.color)).c_str(), screen);
    } else {
        say_undecided(p, result);
    }
    if (json_taken) write_json(std::cout);
    if (log_taken) write_hdr(std::cout);
    if (csv_taken) write_series(std::cout);
    return flush_output() && written ? exit_code(p, result) : not_written();
}

}  // namespace

int main(int argc, char** argv) {
#ifdef WIREBENCH_STATIC
    // Only what is linked in: a module of another libc, as /etc/nsswitch.conf may name, cannot be
    // loaded.
    __nss_configure_lookup("hosts", "files dns");
#endif
    occupy_closed_streams();
    std::signal(SIGPIPE, SIG_IGN);  // a reader of standard output that leaves is no reason to die
    try {
        auto parsed =
            parse_command_line(std::vector<std::string>(argv, argv + argc), allowed_cpus());
        if (const auto* early = std::get_if<early_exit>(&parsed)) {
            std::fputs(early->text.c_str(), early->code == exit_ok ? stdout : stderr);
            return flush_output() ? early->code : not_written();
        }
        return load(std::get<options>(std::move(parsed)));
    } catch (const std::exception& broken) {
        complain(fmt::format("stopped: {}", broken.what()));
        return exit_nothing_measured;
    }
}
