#include "plan/reply_checks.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <re2/re2.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"

namespace wireload {
namespace {

using nlohmann::json;

using kind = reply_checks::failure::kind;

// Memory for one expression's automaton; beyond it RE2 goes on with a slower one that needs none.
constexpr std::int64_t automaton_bytes = 8 * 1024 * 1024;

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

re2::StringPiece piece_of(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

reply_checks::reply_checks() = default;
reply_checks::~reply_checks() = default;
reply_checks::reply_checks(reply_checks&&) noexcept = default;
reply_checks& reply_checks::operator=(reply_checks&&) noexcept = default;

std::variant<reply_checks, std::string> reply_checks::compile(const expectations& asked,
                                                              const text_template* request) {
    reply_checks out;
    out.asked_ = asked;
    std::string problem = request != nullptr ? out.compile_body(*request) : std::string();
    if (problem.empty()) problem = out.compile_headers();
    if (problem.empty()) problem = out.compile_digest();
    if (problem.empty()) problem = out.compile_match();
    if (problem.empty()) problem = out.compile_json();
    if (!problem.empty()) return problem;
    out.keeps_body_ = !out.match_.empty() || !out.json_.empty();
    out.looks_at_body_ = asked.body || out.digest_ || out.keeps_body_;
    out.has_more_ = out.looks_at_body_ || asked.length || !out.headers_.empty();
    return out;
}

std::string reply_checks::compile_body(const text_template& request) {
    if (asked_.body) {
        auto parsed = text_template::parse(*asked_.body);
        if (const auto* wrong = std::get_if<std::string>(&parsed))
            return fmt::format("--expect-body: {}", *wrong);
        body_ = std::get<text_template>(std::move(parsed));
        if (const auto wrong = body_.take_values_of(request))
            return fmt::format("--expect-body: {}", *wrong);
        varies_ = !body_.is_constant();
        if (!varies_) asked_.body = body_.text({});
    }
    return {};
}

std::string reply_checks::compile_headers() {
    for (const std::string& text : asked_.headers) {
        const std::size_t colon = text.find(':');
        header_check check{.name = std::string(trimmed(std::string_view(text).substr(0, colon)))};
        if (!wire::http::is_token(check.name)) {
            return fmt::format(
                "--expect-header '{}': write 'Name', 'Name: value' or 'Name: beginning*'", text);
        }
        if (colon != std::string::npos) {
            check.value = trimmed(std::string_view(text).substr(colon + 1));
            check.begins = check.value->ends_with('*');
            if (check.begins) check.value->pop_back();
        }
        headers_.push_back(std::move(check));
    }
    return {};
}

std::string reply_checks::compile_digest() {
    if (!asked_.sha256.empty()) {
        if (!sha256::available()) {
            return "--expect-sha256: this wireload was built without OpenSSL; install libssl-dev "
                   "and build it again";
        }
        digest_ = sha256::parse(asked_.sha256);
        if (!digest_)
            return fmt::format(
                "--expect-sha256 {}: give 64 hexadecimal digits, as sha256sum prints them",
                asked_.sha256);
    }
    return {};
}

std::string reply_checks::compile_match() {
    for (const std::string& text : asked_.match) {
        // It matches everything, and is most often a shell's variable that is not set.
        if (text.empty()) return "--expect-match '': give a regular expression, or leave it out";
        re2::RE2::Options options;
        options.set_log_errors(false);
        options.set_max_mem(automaton_bytes);
        auto compiled = std::make_unique<const re2::RE2>(piece_of(text), options);
        if (!compiled->ok()) {
            return fmt::format(
                "--expect-match '{}': {}; the syntax is RE2's (no look-around, no back references)",
                text, compiled->error());
        }
        match_.push_back(std::move(compiled));
    }
    return {};
}

std::string reply_checks::compile_json() {
    for (const json_expectation& asked : asked_.json) {
        const auto path = json_path::parse(trimmed(asked.path));
        if (!path)
            return fmt::format(
                "--expect-json '{}': write path=value, as in 'items[0].id=7' or '/items/0/id=7'",
                asked.text());
        json_check check{.path = *path, .value = {}};
        if (asked.value) {
            // What is not JSON by itself is a string: name=bob needs no quotes.
            check.value = std::make_shared<const json>(
                json::accept(*asked.value) ? json::parse(*asked.value) : json(*asked.value));
        }
        json_.push_back(std::move(check));
    }
    return {};
}

void reply_checks::check_headers(progress& p, const wire::http::response_head& head) const {
    for (std::size_t i = 0; i < headers_.size() && !p.wrong_header; ++i) {
        const header_check& check = headers_[i];
        const bool found =
            std::any_of(head.headers.begin(), head.headers.end(), [&](const wire::http::header& h) {
                if (!wire::http::equals_ignoring_case(h.name, check.name)) return false;
                return !check.value ||
                       (check.begins ? h.value.starts_with(*check.value) : h.value == *check.value);
            });
        if (!found) p.wrong_header = i;
    }
}

void reply_checks::check_piece(progress& p, std::string_view piece) const {
    if (asked_.body && p.body_equal) {
        const std::string_view right = wanted(p);
        p.body_equal = p.body_bytes + piece.size() <= right.size() &&
                       std::memcmp(right.data() + p.body_bytes, piece.data(), piece.size()) == 0;
    }
    if (digest_) {
        if (p.digest == nullptr) p.digest = std::make_unique<sha256>();
        p.digest->add(piece);
    }
    if (keeps_body_ && p.kept.size() < most_kept)
        p.kept += piece.substr(0, most_kept - p.kept.size());
}

std::optional<reply_checks::failure> reply_checks::finish_more(progress& p) const {
    if (p.wrong_header) return failure{kind::header, *p.wrong_header};
    if (asked_.body && (!p.body_equal || p.body_bytes != wanted(p).size()))
        return failure{kind::body};
    if (asked_.length && p.body_bytes != *asked_.length) return failure{kind::length};
    if (digest_ && (p.digest == nullptr ? sha256() : std::move(*p.digest)).finish() != *digest_)
        return failure{kind::sha256};
    return check_text(p.kept, p.body_bytes == p.kept.size());
}

std::optional<reply_checks::failure> reply_checks::check_message(std::string_view text) const {
    if (asked_.length && text.size() != *asked_.length) return failure{kind::length};
    if (digest_) {
        sha256 sum;
        sum.add(text);
        if (sum.finish() != *digest_) return failure{kind::sha256};
    }
    return check_text(text.substr(0, most_kept), text.size() <= most_kept);
}

std::optional<reply_checks::failure> reply_checks::check_text(std::string_view text,
                                                              bool whole) const {
    for (std::size_t i = 0; i < match_.size(); ++i) {
        if (!re2::RE2::PartialMatch(piece_of(text), *match_[i])) return failure{kind::match, i};
    }
    for (std::size_t i = 0; i < json_.size(); ++i) {
        if (!whole) return failure{kind::json, i};
        const auto [valid, value] = json_[i].path.find(text);
        if (!valid || value == nullptr || (json_[i].value && *value != *json_[i].value))
            return failure{kind::json, i};
    }
    return std::nullopt;
}

std::string reply_checks::expected(template_values of_request) const {
    std::string out = fmt::format("status {}", asked_.status.text());
    const auto add = [&](kind what, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            out += ", " + expected(failure{what, i}, of_request);
    };
    add(kind::header, headers_.size());
    add(kind::body, asked_.body ? 1 : 0);
    add(kind::length, asked_.length ? 1 : 0);
    add(kind::sha256, digest_ ? 1 : 0);
    add(kind::match, match_.size());
    add(kind::json, json_.size());
    return out;
}

std::string reply_checks::expected(const failure& f, template_values of_request) const {
    switch (f.what) {
    case kind::status: return fmt::format("status {}", asked_.status.text());
    case kind::header:
        return fmt::format("header {} (--expect-header)", printable(asked_.headers[f.index], 256));
    case kind::body: {
        const std::string body = varies_ ? body_.text(of_request) : *asked_.body;
        return fmt::format("body \"{}\" ({} bytes) (--expect-body)", printable(body, 256),
                           body.size());
    }
    case kind::length: return fmt::format("{} bytes of content (--expect-length)", *asked_.length);
    case kind::sha256: return fmt::format("SHA-256 {} (--expect-sha256)", asked_.sha256);
    case kind::match:
        return fmt::format("a match of {} (--expect-match)", printable(asked_.match[f.index], 256));
    case kind::json: break;
    }
    return fmt::format("JSON with {} (--expect-json)", printable(asked_.json[f.index].text(), 256));
}

}  // namespace wireload
