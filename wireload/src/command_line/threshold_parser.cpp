#include "command_line/threshold_parser.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/duration.hpp"
#include "command_line/suggest.hpp"

namespace wireload {
namespace {

struct named_metric {
    std::string_view name;
    threshold_metric metric;
};

// errors becomes errors_percent by its value.
constexpr named_metric metrics[] = {
    {"min", threshold_metric::min},
    {"mean", threshold_metric::mean},
    {"max", threshold_metric::max},
    {"errors", threshold_metric::errors},
    {"ok", threshold_metric::ok},
    {"rate", threshold_metric::rate},
    {"generator", threshold_metric::generator},
};

constexpr std::string_view all_metrics =
    "p50 (any pN), min, mean or max (lag_ or service_ may stand before them), errors, ok, rate or "
    "generator";

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [end, failure] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (failure != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
        value < 0)
        return std::nullopt;
    return value;
}

std::string unknown_metric(std::string_view name, std::size_t place) {
    std::vector<std::string> names = {"p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99"};
    for (const named_metric& m : metrics) names.emplace_back(m.name);
    static constexpr std::pair<std::string_view, std::string_view> others[] = {
        {"avg", "mean"},      {"average", "mean"}, {"med", "p50"},
        {"median", "p50"},    {"rps", "rate"},     {"error", "errors"},
        {"cpu", "generator"}, {"lag", "lag_p99"},  {"service", "service_p99"},
    };
    std::string near;
    for (const auto& [other, ours] : others) {
        if (name == other) near = ours;
    }
    if (near.empty()) near = nearest(name, names);
    return fmt::format("at {}: '{}' is not a metric; give {}{}", place, name, all_metrics,
                       near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

std::string read_metric(const std::string_view whole, std::size_t place, threshold& out) {
    std::string_view name = whole;
    for (const auto& [prefix, source] : {std::pair("lag_", threshold_source::lag),
                                         std::pair("service_", threshold_source::service)}) {
        if (!name.starts_with(prefix)) continue;
        name.remove_prefix(std::string_view(prefix).size());
        out.source = source;
    }
    for (const named_metric& m : metrics) {
        if (m.name != name) continue;
        out.metric = m.metric;
        if (out.source != threshold_source::latency && !out.is_time())
            return unknown_metric(whole, place);
        return {};
    }
    if (!name.starts_with('p')) return unknown_metric(whole, place);
    const auto percent = number(name.substr(1));
    if (!percent) return unknown_metric(whole, place);
    if (*percent <= 0 || *percent >= 100)
        return fmt::format("at {}: '{}': a percentile lies between 0 and 100, such as p99.9", place,
                           name);
    out.metric = threshold_metric::percentile;
    out.percent = *percent;
    return {};
}

std::string read_limit(std::string_view text, std::size_t place, std::string_view name,
                       threshold& out) {
    if (text.empty())
        return fmt::format("at {}: a value is missing, as in {}", place,
                           out.is_time() ? "p99>20ms" : "errors>0.1%");
    if (out.is_time()) {
        const auto time = parse_duration(text);
        if (!time) {
            return fmt::format(
                "at {}: '{}': {} is a time; give it with its unit, such as {}", place, text, name,
                number(text) ? fmt::format("{0}ms or {0}us", text) : "20ms or 500us");
        }
        out.limit = static_cast<double>(time->count());
        return {};
    }
    const bool share = text.ends_with('%');
    const auto value = number(trimmed(share ? text.substr(0, text.size() - 1) : text));
    if (out.metric == threshold_metric::errors && share)
        out.metric = threshold_metric::errors_percent;
    if (!value || share != out.is_share()) {
        const std::string_view wanted = name == "errors" ? "a count or a share, such as 10 or 0.1%"
                                        : out.metric == threshold_metric::generator
                                            ? "a share, such as 80%"
                                            : "a number, such as 10000";
        return fmt::format("at {}: '{}': {} is compared with {}", place, text, name, wanted);
    }
    out.limit = *value;
    return {};
}

}  // namespace

std::variant<threshold, std::string> parse_threshold(std::string_view text) {
    threshold out;
    out.text = text;
    const std::size_t op = text.find_first_of("<>=!");
    // Places count from 1, as editors do.
    const std::size_t at_metric = std::min(text.find_first_not_of(' '), text.size()) + 1;
    if (op == std::string_view::npos) {
        return fmt::format(
            "at {}: an operator is missing; write a metric, one of > >= < <=, and a value, such as "
            "'p99>20ms'",
            text.size() + 1);
    }
    const std::string_view name = trimmed(text.substr(0, op));
    if (name.empty())
        return fmt::format("at 1: a metric is missing before '{}'; give {}", text[op], all_metrics);
    if (std::string problem = read_metric(name, at_metric, out); !problem.empty()) return problem;
    std::size_t end = op + 1;
    while (end < text.size() &&
           (text[end] == '=' || text[end] == '<' || text[end] == '>' || text[end] == '!'))
        ++end;
    const std::string_view sign = text.substr(op, end - op);
    if (sign != ">" && sign != ">=" && sign != "<" && sign != "<=")
        return fmt::format("at {}: '{}' is not one of > >= < <=", op + 1, sign);
    out.greater = sign[0] == '>';
    out.or_equal = sign.size() == 2;
    const std::size_t at_value = std::min(text.find_first_not_of(' ', end), text.size()) + 1;
    if (std::string problem = read_limit(trimmed(text.substr(end)), at_value, name, out);
        !problem.empty())
        return problem;
    return out;
}

}  // namespace wireload
