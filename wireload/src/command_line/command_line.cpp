#include "command_line/command_line.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/version.hpp"
#include "command_line/completion.hpp"
#include "command_line/help.hpp"
#include "command_line/option_table.hpp"
#include "command_line/readers.hpp"
#include "command_line/suggest.hpp"
#include "command_line/usage.hpp"
#include "wire/proto/http_types.hpp"

namespace wireload {
namespace {

// Every option is text, a list of texts or a flag to CLI11; what there is stands in
// option_table.cpp.
void declare(CLI::App& app, raw_options& raw) {
    app.set_help_flag();
    app.allow_extras();
    app.add_option("URL", raw.urls);
    for (const option_section& section : option_sections()) {
        for (const option_row& row : section.rows) {
            const std::string names(row.names);
            if (const auto* text = std::get_if<std::string raw_options::*>(&row.into)) {
                app.add_option(names, raw.**text)
                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
            } else if (const auto* list =
                           std::get_if<std::vector<std::string> raw_options::*>(&row.into)) {
                app.add_option(names, raw.**list)->allow_extra_args(false);
            } else {
                app.add_flag(names, raw.*std::get<bool raw_options::*>(row.into));
            }
        }
    }
}

void note_given(const CLI::App& app, given_options& given) {
    for (const option_section& section : option_sections()) {
        for (const option_row& row : section.rows) {
            if (app.count(std::string(row.names.substr(0, row.names.find(',')))) != 0)
                given.names.emplace(row.long_name());
        }
    }
}

std::vector<std::string> flag_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    }
    return names;
}

void refuse_extras(const CLI::App& app) {
    std::vector<std::string> extras = app.remaining();
    std::erase(extras, "--");  // it only ends the options
    if (extras.empty()) return;
    const auto flag = std::find_if(extras.begin(), extras.end(),
                                   [](const auto& e) { return e.size() > 1 && e[0] == '-'; });
    if (flag == extras.end())
        refuse("'{}' is one URL too many; give one (or quote what belongs together)",
               extras.front());
    const std::string name = flag->substr(0, flag->find('='));
    if (const auto advice = advice_for_foreign_flag(name); !advice.empty())
        refuse("there is no {}; {}", name, advice);
    const std::string near =
        name.starts_with("--") ? nearest(name, flag_names(app)) : std::string();
    if (!near.empty()) refuse("there is no {}; did you mean {}?", name, near);
    refuse("there is no {}; see wireload --help", name);
}

options read(const given_options& given, unsigned allowed_cpus) {
    options out;
    if (given.raw.urls.empty() && given.raw.requests_file.empty()) {
        refuse("which server? give a URL such as http://127.0.0.1:8080/ (see wireload --help)");
    }
    out.urls = given.raw.urls;
    for (const std::string& url : out.urls) {
        const bool websocket = kind_of(url).websocket;
        if (&url != &out.urls.front() && websocket != out.websocket)
            refuse("{}: not of the same kind as {}; give URLs for http or for ws", url,
                   out.urls.front());
        out.websocket = websocket;
    }
    read_load(given, out);
    read_connection_use(given, out);
    read_exchange(given, out);
    read_content_checks(given, out);
    read_requests_file(given, out);
    read_tls(given, out);
    out.url = out.urls.empty() ? out.rotation.front().url : out.urls.front();
    read_place(given, allowed_cpus, out);
    read_output(given, out);
    complete_open_loop(out);
    return out;
}

}  // namespace

url_kind kind_of(const std::string& url) {
    if (url.find("://") == std::string::npos)
        refuse("{}: begin the URL with http:// or ws://, as in http://{}", url, url);
    const std::string scheme = url.substr(0, url.find("://"));
    const auto is = [&](std::string_view known) {
        return wire::http::equals_ignoring_case(scheme, known);
    };
    const url_kind out{.websocket = is("ws") || is("wss"), .secure = is("https") || is("wss")};
    if (!out.websocket && !out.secure && !is("http"))
        refuse("{}: '{}' is not http, https, ws or wss", url, scheme);
    return out;
}

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
    std::vector<int> cpus;
    while (true) {
        const std::string_view item = text.substr(0, text.find(','));
        int first = 0;
        const char* const end = item.data() + item.size();
        auto [next, failure] = std::from_chars(item.data(), end, first);
        if (failure != std::errc() || first < 0 || first > 4095) return std::nullopt;
        int last = first;
        if (next != end) {
            if (*next != '-') return std::nullopt;
            const auto [after, bad] = std::from_chars(next + 1, end, last);
            if (bad != std::errc() || after != end || last < first || last > 4095)
                return std::nullopt;
        }
        for (int cpu = first; cpu <= last; ++cpu) {
            if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) cpus.push_back(cpu);
        }
        if (item.size() == text.size()) return cpus;
        text.remove_prefix(item.size() + 1);
    }
}

std::variant<options, early_exit> parse_command_line(const std::vector<std::string>& argv,
                                                     unsigned allowed_cpus) {
    given_options given;
    raw_options& raw = given.raw;
    CLI::App app;
    declare(app, raw);
    try {
        // CLI11 takes them last first.
        std::vector<std::string> arguments(argv.rbegin(), argv.rend() - 1);
        app.parse(arguments);
        if (raw.help) return early_exit{exit_ok, help_text()};
        if (raw.short_help) return early_exit{exit_ok, short_help_text()};
        if (raw.manual) return early_exit{exit_ok, manual_page()};
        note_given(app, given);
        if (given.has("--completion")) {
            one_of("--completion", raw.completion);
            return early_exit{exit_ok, completion_script(raw.completion)};
        }
        if (raw.version) return early_exit{exit_ok, fmt::format("wireload {}\n", version_text())};
        refuse_extras(app);
        options out = read(given, allowed_cpus);
        out.command = argv;
        return out;
    } catch (const usage_error& wrong) {
        return early_exit{exit_usage, fmt::format("wireload: {}\n", wrong.text)};
    } catch (const CLI::ParseError& wrong) {
        return early_exit{exit_usage,
                          fmt::format("wireload: {}; see wireload --help\n", wrong.what())};
    }
}

}  // namespace wireload
