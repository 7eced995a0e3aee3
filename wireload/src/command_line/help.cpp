#include "command_line/help.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/version.hpp"
#include "command_line/option_table.hpp"

namespace wireload {
namespace {

constexpr std::string_view purpose =
    "load an HTTP or WebSocket server and report truthfully what it did";
constexpr std::string_view target =
    "URL is http://host[:port]/path or ws://host[:port]/path, with https or wss over TLS. Several "
    "URLs take turns. A host name is looked up once, before anything is timed.";

constexpr std::string_view description[] = {
    "Keeps a number of connections busy for a time or a count. Each connection sends its next "
    "request when it has the reply to the previous one (a closed loop). Every reply is parsed and "
    "checked; a wrong reply counts as an error, never as a result. Latency is recorded in an "
    "HdrHistogram with 3 significant digits.",
    "All connections are opened first (the connect phase, timed apart). Then comes the warm-up, "
    "then the measured window. A reply or error counts when it arrives inside the window. Requests "
    "in flight when the window ends do not count.",
};

struct pair {
    std::string_view what;
    std::string_view text;
};

constexpr pair exit_codes[] = {
    {"0", "measured, and every reply was right"},
    {"1",
     "measured, with errors (unless a --fail-if says how many errors are too many), or ended early "
     "because nothing worked any more"},
    {"2",
     "nothing could be measured: not one complete reply came in the window, or a name has no "
     "address; or the result could not be written whole"},
    {"3",
     "measured, and the condition of a --fail-if holds or could not be decided: too few replies, "
     "or "
     "a window that is void, since the generator did not send the load that was asked for"},
    {"64",
     "the command line is wrong, or asks for what this host does not have, such as a file or so "
     "many connections"},
};

constexpr pair environment[] = {
    {"NO_COLOR", "set to anything: no colours, unless --color always says otherwise"},
    {"LC_ALL", "and LC_CTYPE, LANG: the summary is drawn in ASCII where they name no UTF-8 locale"},
    {"SSL_CERT_FILE",
     "and SSL_CERT_DIR: a PEM file and a folder of authorities, each in place of the system's"},
};

constexpr pair examples[] = {
    {"wireload -c 50 -d 10s http://127.0.0.1:8080/", "fifty connections for ten seconds"},
    {"wireload -c 10 --each 1000 --no-keepalive -b '{\"param1\":42}' -H 'Content-Type: "
     "application/json' http://127.0.0.1:8080/test",
     "ten producers, a thousand requests each, every one on a new connection"},
    {"wireload -c 50 -d 30s --fail-if 'p99>20ms' --fail-if 'errors>0.1%' --json out.json "
     "http://127.0.0.1:8080/",
     "a gate for continuous integration: exit status 3 when one of the conditions holds"},
    {"wireload --ramp-rounds 100 --check count ws://127.0.0.1:8080/",
     "a hundred more WebSocket connections in each of a hundred rounds"},
};

constexpr std::size_t width = 80;

// With `quotes`, what a shell's '...' holds stays in one word.
std::vector<std::string_view> words_of(std::string_view text, bool quotes) {
    std::vector<std::string_view> out;
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
        if (text.empty()) return out;
        bool inside = false;
        std::size_t end = 0;
        for (; end < text.size() && (inside || text[end] != ' '); ++end) {
            if (quotes && text[end] == '\'') inside = !inside;
        }
        out.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

// The words of `text` in lines, each after `indent` spaces; the first line goes on from column
// `at`. Of a command, `glue` ends a line that goes on.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t at = 0,
                    std::string_view glue = {}) {
    std::string out;
    std::size_t column = at;
    const auto start_line = [&] {
        out += std::string(indent - std::min(indent, column), ' ');
        column = std::max(indent, column);
    };
    start_line();
    bool first = true;
    for (const std::string_view word : words_of(text, !glue.empty())) {
        if (!first && column + 1 + word.size() + glue.size() > width) {
            out += fmt::format("{}\n", glue);
            column = 0;
            start_line();
            first = true;
        }
        out += fmt::format("{}{}", first ? "" : " ", word);
        column += word.size() + (first ? 0 : 1);
        first = false;
    }
    return out + "\n";
}

std::string spelling(const option_row& row) {
    std::string out = row.short_name().empty() ? "    " : std::string(row.short_name());
    if (!row.long_name().empty())
        out += fmt::format("{}{}", row.short_name().empty() ? "" : ", ", row.long_name());
    return row.argument.empty() ? out : fmt::format("{} {}", out, row.argument);
}

std::string option_lines(const option_row& row) {
    constexpr std::size_t column = 27;
    const std::string head = "  " + spelling(row);
    if (head.size() + 2 > column) return head + "\n" + wrapped(row.text, column);
    return head + wrapped(row.text, column, head.size());
}

std::string example_lines(const pair& one) {
    return wrapped(one.what, 2, 0, " \\") + wrapped(one.text, 6);
}

// ---- roff ----

// Backslashes, and dots and quotes that begin a line, mean something to roff; a bare hyphen may be
// shown as another sign.
std::string roff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (out.empty() && (c == '.' || c == '\'')) out += "\\&";
        if (c == '\\') out += "\\e";
        else if (c == '-') out += "\\-";
        else if (c == '\'') out += "\\(aq";
        else out += c;
    }
    return out;
}

std::string manual_option(const option_row& row) {
    std::string names;
    for (const std::string_view name : {row.short_name(), row.long_name()}) {
        if (!name.empty())
            names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
    }
    if (!row.argument.empty()) names += fmt::format(" \\fI{}\\fR", roff(row.argument));
    return fmt::format(".TP\n{}\n{}\n", names, roff(row.text));
}

}  // namespace

std::string help_text() {
    std::string out = fmt::format(
        "NAME\n  wireload - {}\n\nSYNOPSIS\n  wireload [options] URL...\n\n{}\nDESCRIPTION\n",
        purpose, wrapped(target, 2));
    for (const std::string_view paragraph : description) {
        if (paragraph != description[0]) out += "\n";
        out += wrapped(paragraph, 2);
    }
    for (const option_section& section : option_sections()) {
        out += fmt::format("\n{}\n", section.title);
        if (!section.text.empty()) out += wrapped(section.text, 2);
        for (const option_row& row : section.rows) out += option_lines(row);
    }
    out += "\nENVIRONMENT\n";
    for (const auto& [name, text] : environment)
        out += fmt::format("  {:<15}", name) + wrapped(text, 17, 17);
    out += "\nEXIT STATUS\n";
    for (const auto& [code, text] : exit_codes)
        out += fmt::format("  {:<4}", code) + wrapped(text, 6, 6);
    out += "\nEXAMPLES\n";
    for (const pair& one : examples) out += example_lines(one);
    return out;
}

std::string short_help_text() {
    std::string out = fmt::format("wireload - {}\n\nusage: wireload [options] URL\n\n", purpose);
    for (const option_section& section : option_sections()) {
        for (const option_row& row : section.rows) {
            if (row.common) out += option_lines(row);
        }
    }
    out += "\n";
    return out + example_lines(examples[0]) + "\nwireload --help describes every option.\n";
}

std::string manual_page() {
    std::string out = fmt::format(
        ".\\\" Made by: wireload --manual\n.TH WIRELOAD 1 \"\" \"wireload {}\" \"User Commands\"\n",
        version_text());
    out += fmt::format(
        ".SH NAME\nwireload \\- {}\n.SH SYNOPSIS\n.B wireload\n[\\fIoptions\\fR] "
        "\\fIURL\\fR...\n.PP\n{}\n.SH DESCRIPTION\n",
        roff(purpose), roff(target));
    for (const std::string_view paragraph : description)
        out += fmt::format("{}{}\n", paragraph == description[0] ? "" : ".PP\n", roff(paragraph));
    for (const option_section& section : option_sections()) {
        out += fmt::format(".SH \"{}\"\n", section.title);
        if (!section.text.empty()) out += roff(section.text) + "\n";
        for (const option_row& row : section.rows) out += manual_option(row);
    }
    out += ".SH ENVIRONMENT\n";
    for (const auto& [name, text] : environment)
        out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(name), roff(text));
    out += ".SH \"EXIT STATUS\"\n";
    for (const auto& [code, text] : exit_codes)
        out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", code, roff(text));
    out += ".SH EXAMPLES\n";
    for (const auto& [what, text] : examples)
        out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(what), roff(text));
    return out;
}

}  // namespace wireload
