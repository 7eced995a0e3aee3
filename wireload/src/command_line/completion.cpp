#include "command_line/completion.hpp"

#include <vector>

#include <fmt/format.h>

#include "command_line/option_table.hpp"

namespace wireload {
namespace {

template <typename Visit> void each_row(Visit&& visit) {
    for (const option_section& section : option_sections()) {
        for (const option_row& row : section.rows) visit(row);
    }
}

std::string joined(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
    return out;
}

// The text up to the first place where a sentence could end: a line of a menu.
std::string_view first_words(std::string_view text) {
    return text.substr(0, std::min(text.find_first_of(";("), text.find(": ")));
}

std::string trimmed(std::string_view text) {
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return std::string(text);
}

std::string escaped(std::string_view text, std::string_view special) {
    std::string out;
    for (const char c : text) {
        if (special.find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

// Inside '...' of any of the three shells, a quote is left out: the menus do not need it.
std::string quotable(std::string_view text) {
    std::string out = trimmed(first_words(text));
    std::erase(out, '\'');
    return out;
}

std::string bash() {
    std::string all, with_choices, files, others;
    each_row([&](const option_row& row) {
        std::string names = std::string(row.short_name());
        if (!row.long_name().empty())
            names += (names.empty() ? "" : "|") + std::string(row.long_name());
        for (const std::string_view name : {row.short_name(), row.long_name()}) {
            if (!name.empty()) all += fmt::format("{}{}", all.empty() ? "" : " ", name);
        }
        if (!row.choices.empty()) {
            with_choices +=
                fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                            names, joined(row.choice_list()));
        } else if (row.offers == completes::files) {
            files += (files.empty() ? "" : "|") + names;
        } else if (!row.argument.empty()) {
            others += (others.empty() ? "" : "|") + names;
        }
    });
    return fmt::format(R"(# Completion of wireload for bash. Made by: wireload --completion bash
_wireload() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  COMPREPLY=()
  # bash cuts words at "=" too: --json=FILE
  [ "$word" = = ] && word=
  [ "$before" = = ] && before=${{COMP_WORDS[COMP_CWORD-2]}}
  case $before in
{}    {}) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word")); return ;;
    {}) return ;;
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W '{}' -- "$word")) ;;
    *) compopt -o nospace 2>/dev/null; COMPREPLY=($(compgen -W 'http:// https:// ws:// wss://' -- "$word")) ;;
  esac
}}
complete -F _wireload wireload
)",
                       with_choices, files, others, all);
}

std::string zsh() {
    std::string rows;
    each_row([&](const option_row& row) {
        const std::string about = escaped(quotable(row.text), "[]:\\");
        std::string value;
        if (!row.argument.empty()) {
            std::string what = std::string(row.argument);
            std::erase(what, '\'');
            value = fmt::format(":{}:", escaped(what, ":\\"));
            if (!row.choices.empty()) value += fmt::format("({})", joined(row.choice_list()));
            else if (row.offers == completes::files) value += "_files";
            else value += " ";
        }
        const bool repeats =
            std::holds_alternative<std::vector<std::string> raw_options::*>(row.into);
        const std::string before = repeats ? "*"
                                   : row.short_name().empty() || row.long_name().empty()
                                       ? ""
                                       : fmt::format("({} {})", row.short_name(), row.long_name());
        for (const std::string_view name : {row.short_name(), row.long_name()}) {
            if (name.empty()) continue;
            const bool equals = name.starts_with("--") && !row.argument.empty();
            rows += fmt::format("  '{}{}{}[{}]{}' \\\n", before, name,
                                equals                 ? "="
                                : row.argument.empty() ? ""
                                                       : "+",
                                about, value);
        }
    });
    return fmt::format(
        "#compdef wireload\n# Completion of wireload for zsh. Made by: wireload --completion "
        "zsh\n_arguments -s -S \\\n{}  '*:URL:_urls'\n",
        rows);
}

std::string fish() {
    std::string out =
        "# Completion of wireload for fish. Made by: wireload --completion fish\n"
        "complete -c wireload -f\n"
        "complete -c wireload -n '__fish_is_first_arg' -a 'http:// https:// ws:// wss://'\n";
    each_row([&](const option_row& row) {
        out += "complete -c wireload";
        if (!row.short_name().empty()) out += fmt::format(" -s {}", row.short_name().substr(1));
        if (!row.long_name().empty()) out += fmt::format(" -l {}", row.long_name().substr(2));
        if (!row.choices.empty()) out += fmt::format(" -x -a '{}'", joined(row.choice_list()));
        else if (row.offers == completes::files) out += " -r -F";
        else if (!row.argument.empty()) out += " -x";
        out += fmt::format(" -d '{}'\n", escaped(quotable(row.text), "\\"));
    });
    return out;
}

}  // namespace

std::string completion_script(std::string_view shell) {
    if (shell == "bash") return bash();
    return shell == "zsh" ? zsh() : fish();
}

}  // namespace wireload
