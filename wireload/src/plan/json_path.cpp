#include "plan/json_path.hpp"

#include <charconv>
#include <span>

#include <nlohmann/json.hpp>

#include "plan/json_scan.hpp"
#include "wire/proto/utf8.hpp"

namespace wireload {
namespace {

using nlohmann::json;

std::optional<std::uint64_t> index_from(std::string_view text) {
    std::uint64_t index = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (text.empty() || failure != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return index;
}

// "~1" is "/" and "~0" is "~" (RFC 6901 section 4). Absent when another character follows a "~".
std::optional<std::string> unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '~') {
            out += text[i];
            continue;
        }
        if (++i == text.size() || (text[i] != '0' && text[i] != '1')) return std::nullopt;
        out += text[i] == '0' ? '~' : '/';
    }
    return out;
}

// Reads one value; what stands at the end of `path` inside it goes to `found`.
bool seek(json_scanner& in, std::span<const json_path::step> path, std::string_view& found,
          int depth) {
    found = {};
    const char* const start = in.position();
    if (path.empty()) {
        if (!in.value(depth)) return false;
        found = {start, static_cast<std::size_t>(in.position() - start)};
        return true;
    }
    if (depth > json_scanner::deepest) return false;
    const json_path::step& step = path.front();
    const bool object = step.name && in.take('{');
    if (!object && !(step.index && in.take('['))) return in.value(depth);
    const char close = object ? '}' : ']';
    in.space();
    if (in.take(close)) return true;
    for (std::uint64_t i = 0;; ++i) {
        bool here = !object && i == *step.index;
        in.space();
        if (object) {
            std::string_view name;
            if (!in.string(name)) return false;
            here = spells(name, *step.name);
            in.space();
            if (!in.take(':')) return false;
            in.space();
        }
        if (here ? !seek(in, path.subspan(1), found, depth + 1) : !in.value(depth + 1))
            return false;
        in.space();
        if (in.take(close)) return true;
        if (!in.take(',')) return false;
    }
}

}  // namespace

bool spells_with_escapes(std::string_view raw, std::string_view name) {
    if (raw.size() > 6 * name.size()) return false;  // the longest spelling of a byte is \u00XX
    const json text = json::parse('"' + std::string(raw) + '"', nullptr, false);
    return text.is_string() && text.get_ref<const std::string&>() == name;
}

std::optional<json_path> json_path::parse(std::string_view text) {
    json_path out;
    if (text.starts_with('/')) {
        while (!text.empty()) {
            text.remove_prefix(1);
            const std::string_view part = text.substr(0, text.find('/'));
            auto name = unescaped(part);
            if (!name) return std::nullopt;
            out.steps_.push_back({std::move(*name), index_from(part)});
            text.remove_prefix(part.size());
        }
        return out;
    }
    bool first = true;
    while (!text.empty()) {
        if (text.front() == '[') {
            const std::size_t close = text.find(']');
            const auto index =
                index_from(text.substr(1, close == std::string_view::npos ? 0 : close - 1));
            if (!index) return std::nullopt;
            out.steps_.push_back({std::nullopt, index});
            text.remove_prefix(close + 1);
        } else {
            if (!first) {
                if (text.front() != '.') return std::nullopt;
                text.remove_prefix(1);
            }
            const std::string_view name = text.substr(0, text.find_first_of(".[]"));
            if (name.empty()) return std::nullopt;
            out.steps_.push_back({std::string(name), std::nullopt});
            text.remove_prefix(name.size());
        }
        first = false;
    }
    if (out.steps_.empty()) return std::nullopt;
    return out;
}

json_path::answer json_path::find(std::string_view text) const {
    answer out;
    if (!wire::is_utf8(text)) return out;
    json_scanner in(text);
    in.space();
    std::string_view found;
    if (!seek(in, steps_, found, 0)) return out;
    in.space();
    if (!in.done()) return out;
    out.valid = true;
    out.value = found;
    return out;
}

bool same_json(std::string_view a, std::string_view b) {
    if (a == b) return true;
    const json left = json::parse(a, nullptr, false);
    const json right = json::parse(b, nullptr, false);
    return !left.is_discarded() && left == right;
}

}  // namespace wireload
