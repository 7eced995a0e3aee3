#include "targets.hpp"

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "fuzz/harness.hpp"
#include "plan/count_reply.hpp"
#include "plan/json_path.hpp"
#include "plan/reply_checks.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/proto/utf8.hpp"

namespace wireload::fuzz {
namespace {

using wire::fuzz::require;
using document = nlohmann::json;
using wire::testing::exact_copy;
using wire::testing::pieces;

// ---- JSON ----

// Deeper than ours goes; then it may refuse what others take.
bool is_deep(std::string_view text) {
    std::size_t depth = 0, most = 0;
    for (const char c : text) {
        if (c == '[' || c == '{') most = std::max(most, ++depth);
        if ((c == ']' || c == '}') && depth > 0) --depth;
    }
    return most > 60;
}

// For nlohmann/json a zero byte ends the text, and a byte order mark is nothing; in JSON neither
// may stand.
document parsed(std::string_view text) {
    return text.find('\0') == text.npos && !text.starts_with('\xef')
               ? document::parse(text, nullptr, false)
               : document(document::value_t::discarded);
}

// What is right for the library's document; of members of the same name that shows the last only.
bool is_count_reply(std::string_view text, const document& whole) {
    const auto once = [&](std::string_view name) {
        const std::size_t at = text.find(name);
        return at != text.npos && text.find(name, at + 1) == text.npos;
    };
    return whole.is_object() && whole.contains("c") && whole.contains("ts") && once("\"c\"") &&
           once("\"ts\"") && text.find('\\') == text.npos && whole["c"].is_number_unsigned() &&
           whole["ts"].is_number();
}

struct place {
    json_path path;
    // Names, or indices where they are numbers and the value is an array.
    std::vector<std::string> steps;

    const document* in(const document& whole) const {
        const document* at = &whole;
        for (const std::string& step : steps) {
            if (at->is_object() && at->contains(step)) {
                at = &(*at)[step];
            } else if (at->is_array() && !step.empty() &&
                       step.find_first_not_of("0123456789") == std::string::npos &&
                       std::stoul(step) < at->size()) {
                at = &(*at)[std::stoul(step)];
            } else {
                return nullptr;
            }
        }
        return at;
    }
};

const std::vector<place>& places() {
    static const std::vector<place> all = [] {
        std::vector<place> out;
        const auto add = [&](const char* text, std::vector<std::string> steps) {
            out.push_back({*json_path::parse(text), std::move(steps)});
        };
        add("/a", {"a"});
        add("a.b", {"a", "b"});
        add("/0", {"0"});
        add("/a/1/c", {"a", "1", "c"});
        add("/a~1b/0", {"a/b", "0"});
        add("/", {""});
        return out;
    }();
    return all;
}

// ---- replies ----

wire::limits small_limits() {
    wire::limits l;
    l.max_header_bytes = 200;
    l.max_headers = 6;
    l.max_body_bytes = 100;
    l.max_interim_responses = 2;
    return l;
}

const reply_checks& every_check() {
    static const reply_checks checks = [] {
        expectations asked;
        asked.headers = {"Content-Type: text/*"};
        asked.match = {"(a|b)*c?[^x]$"};
        asked.json = {{"a.b[1]", "7"}, {"/c/0", {}}};
        return std::get<reply_checks>(reply_checks::compile(asked));
    }();
    return checks;
}

std::string verdict_of(const std::optional<reply_checks::failure>& failure) {
    if (!failure) return "right;";
    require(!every_check().expected(*failure).empty(), "a failure without words");
    return std::to_string(static_cast<int>(failure->what)) + "," + std::to_string(failure->index) +
           ";";
}

// What is said of the replies in these bytes, one after the other, as a connection reads them.
std::string said_of(const pieces& cut) {
    const wire::limits limits = small_limits();
    wire::http::response_parser parser(limits);
    wire::http::response_head head;
    reply_checks::progress progress;
    int status = 0;
    std::string held, said;
    for (const std::string_view piece : cut) {
        held += piece;
        std::size_t at = 0;
        while (true) {
            exact_copy in(std::string_view(held).substr(at));
            const wire::http::step step = parser.parse({in.data(), in.size()}, head);
            require(step.consumed <= in.size(), "more consumed than there was");
            at += step.consumed;
            if (step.what == wire::http::event::need_more) break;
            if (step.what == wire::http::event::error) return said + "error";
            if (step.what == wire::http::event::head) {
                status = head.status;
                every_check().head(progress, head);
            } else if (step.what == wire::http::event::body) {
                every_check().body(progress, step.data);
                require(progress.kept.size() <= reply_checks::most_kept,
                        "more kept than is allowed");
            } else if (step.what == wire::http::event::end) {
                said += std::to_string(status) + ":" +
                        verdict_of(every_check().finish(progress, status));
                if (parser.upgraded()) return said;
                progress = {};
                parser.expect(wire::http::method::get);
            }
        }
        held.erase(0, at);
    }
    return said;
}

}  // namespace

void count(std::string_view input) {
    exact_copy copy(input);
    const std::string_view text = copy;
    const auto found = parse_count_reply(text);
    const document other = parsed(text);
    if (!found) {
        require(is_deep(text) || !is_count_reply(text, other), "a right count was refused");
        return;
    }
    require(other.is_object() && other.contains("c") && other.contains("ts"),
            "a count in what is not such an object");
    require(other["ts"].is_number() && other["c"].is_number_unsigned(),
            "a count that is no number");
    require(other["c"].get<std::uint64_t>() == *found, "another count");
}

void json(std::string_view input) {
    exact_copy copy(input);
    const std::string_view text = copy;
    const document other = parsed(text);
    for (const place& one : places()) {
        const auto [valid, value] = one.path.find(text);
        if (valid) {
            require(wire::is_utf8(text), "valid, although not UTF-8");
            require(!other.is_discarded(), "valid for us only");
        } else {
            require(other.is_discarded() || is_deep(text), "valid for another only");
        }
        if (!valid || other.is_discarded()) continue;
        const document* const there = one.in(other);
        require((value == nullptr) == (there == nullptr), "there for one of two");
        if (there == nullptr) continue;
        require(*value == *there, "another value");
    }
}

void reply(std::string_view input) {
    (void)verdict_of(every_check().message(input));
    wire::fuzz::compare_cuts(input, said_of);
}

}  // namespace wireload::fuzz
