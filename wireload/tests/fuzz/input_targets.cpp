// What a user writes: templates, files of requests and of arrivals, numbers, command lines.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/duration.hpp"
#include "command_line/command_line.hpp"
#include "command_line/threshold_parser.hpp"
#include "fuzz/harness.hpp"
#include "plan/arrivals.hpp"
#include "plan/expectations.hpp"
#include "plan/json_path.hpp"
#include "plan/plan.hpp"
#include "plan/request_file.hpp"
#include "plan/text_template.hpp"
#include "targets.hpp"

namespace wireload::fuzz {

using wire::fuzz::require;
using wire::fuzz::take_line;

namespace {

// A file with these bytes, for those who want a path.
class file_of {
public:
    explicit file_of(std::string_view bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
        require(write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
                "a file could not be written");
    }
    ~file_of() { close(fd_); }
    file_of(const file_of&) = delete;
    file_of& operator=(const file_of&) = delete;
    std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
    int fd_;
};

// No inputs that have other files read.
bool names_files(std::string_view text) {
    return text.find("_file") != text.npos || text.find("/dev") != text.npos ||
           text.find("/proc") != text.npos;
}

// Whether it can be made ready to send, as far as that needs no network.
void prepare(options asked) {
    asked.print_request = true;
    const auto made = make_plan(std::move(asked));
    if (const auto* problem = std::get_if<plan_problem>(&made))
        require(!problem->text.empty(), "refused without a reason");
}

}  // namespace

// The first byte chooses the counter; the rest is a text with values in it.
void templates(std::string_view input) {
    if (input.empty()) return;
    const template_values v{
        .seed = 7, .counter = static_cast<unsigned char>(input.front()) * 1'000'003ULL + 1};
    input.remove_prefix(1);
    for (const bool short_counter : {false, true}) {
        const auto parsed = text_template::parse(input, short_counter);
        if (const auto* problem = std::get_if<std::string>(&parsed)) {
            require(!problem->empty(), "refused without a reason");
            continue;
        }
        const auto& t = std::get<text_template>(parsed);
        const std::string text = t.text(v);
        require(t.size(v) == text.size(), "another size than that of the text");
        require(t.equals(text, v), "a text that is not equal to itself");
        require(!t.equals(text + "x", v), "equal to a longer one");
        require(!t.is_constant() || text == t.text({.seed = 8, .counter = 9}),
                "a constant that changes");
        const std::uint64_t counter = t.counter_in(text);
        require(counter == 0 || counter == v.counter, "another counter was read than was written");
        std::string walked;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t reached =
                t.walk(v, at, 3, [&](std::string_view piece, std::size_t) { walked += piece; });
            require(reached > at && reached <= at + 3, "no way forward");
            at = reached;
        }
        require(walked == text, "the pieces are not the whole");
    }
}

void requests(std::string_view input) {
    if (names_files(input)) return;
    const file_of file(input);
    const auto read = read_request_file(file.path(), {});
    if (const auto* problem = std::get_if<std::string>(&read)) {
        require(!problem->empty(), "refused without a reason");
        return;
    }
    options asked;
    asked.urls = {"http://127.0.0.1:1/"};
    asked.url = asked.urls[0];
    asked.rotation = std::get<std::vector<request_options>>(read);
    prepare(std::move(asked));
}

// A rate, and on the following lines what was recorded.
void schedule(std::string_view input) {
    const std::string_view rate = take_line(input);
    std::vector<arrival_plan> plans;
    if (const auto constant = parse_rate(rate); std::holds_alternative<std::uint64_t>(constant)) {
        const std::uint64_t milli = std::get<std::uint64_t>(constant);
        require(milli <= most_rate_milli, "a rate beyond the limit");
        plans.push_back({.pieces = {{milli, milli, never}}, .recorded = {}});
    }
    for (const auto& changing : {parse_rate_steps(rate), parse_rate_ramp(rate)}) {
        if (const auto* pieces = std::get_if<std::vector<rate_piece>>(&changing))
            plans.push_back({.pieces = *pieces, .recorded = {}});
    }
    std::istringstream lines{std::string(input)};
    if (const auto recorded = read_arrivals(lines);
        const auto* times = std::get_if<std::vector<nanos>>(&recorded)) {
        require(std::is_sorted(times->begin(), times->end()), "recorded out of order");
        plans.push_back({.kind = arrival_kind::recorded, .pieces = {}, .recorded = *times});
    }
    for (arrival_plan plan : plans) {
        for (const auto kind : {arrival_kind::constant, arrival_kind::poisson}) {
            if (plan.kind != arrival_kind::recorded) plan.kind = kind;
            const nanos length = plan.length();
            require(length >= 0, "a schedule of less than no time");
            nanos before = 0;
            arrivals due(plan, 0, 2);
            for (int n = 0; n < 100 && due.next() != never; ++n, due.pop()) {
                require(due.next() >= before && due.next() <= length,
                        "due out of order, or after the end");
                before = due.next();
            }
        }
    }
}

// Each line is an argument; the whole is given to all that read the values of options.
void command_line(std::string_view input) {
    if (const auto time = parse_duration(input))
        require(time->count() >= 0, "a duration of less than no time");
    if (const auto cpus = parse_cpu_list(input))
        require(!cpus->empty() && *std::min_element(cpus->begin(), cpus->end()) >= 0,
                "a CPU that there is not");
    if (const auto limit = parse_threshold(input);
        const auto* problem = std::get_if<std::string>(&limit))
        require(!problem->empty(), "refused without a reason");
    if (const auto path = json_path::parse(input)) (void)path->find("{\"a\":[1,{\"b\":2}]}");
    if (const auto statuses = status_set::parse(input)) (void)statuses->contains(200);
    if (names_files(input)) return;
    std::vector<std::string> arguments{"wireload"};
    while (!input.empty()) arguments.emplace_back(take_line(input));
    auto parsed = parse_command_line(arguments, 2);
    if (const auto* wrong = std::get_if<early_exit>(&parsed)) {
        require(!wrong->text.empty(), "an end without words");
        return;
    }
    auto& asked = std::get<options>(parsed);
    require(!asked.url.empty() || !asked.rotation.empty(), "nothing to ask");
    require(asked.connections > 0 && asked.threads > 0 && asked.in_flight > 0, "nobody to ask it");
    prepare(std::move(asked));
}

}  // namespace wireload::fuzz
