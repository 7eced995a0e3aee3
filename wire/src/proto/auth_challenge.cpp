// Challenges and their parameters both end in commas: what follows one says which it was.
#include "auth_challenge.hpp"

#include <algorithm>

#include "char_tables.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http::detail {

namespace {

constexpr std::size_t most_params = 32;  // of one challenge; RFC 7616 knows nine

std::string_view take_token(std::string_view& text) noexcept {
    const auto end = std::find_if_not(text.begin(), text.end(), is_token_char);
    const std::string_view token = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(token.size());
    return token;
}

// Whether nothing of an element follows.
bool at_comma(std::string_view text) noexcept {
    skip_space(text);
    return text.empty() || text.front() == ',';
}

// RFC 9110 section 11.2. Only where nothing else follows in the element: "a=b" is a parameter.
bool take_token68(std::string_view& text) noexcept {
    std::string_view rest = text;
    std::size_t n = 0;
    const auto belongs = [](char c) {
        return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') ||
               std::string_view("-._~+/").find(c) != std::string_view::npos;
    };
    while (n < rest.size() && belongs(rest[n])) ++n;
    if (n == 0) return false;
    while (n < rest.size() && rest[n] == '=') ++n;
    rest.remove_prefix(n);
    if (!at_comma(rest)) return false;
    text = rest;
    return true;
}

// The opening quote has been taken.
bool take_quoted(std::string_view& text, std::string_view& out) noexcept {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\') {
            ++i;  // whatever it escapes
            continue;
        }
        if (text[i] != '"') continue;
        out = text.substr(0, i);
        text.remove_prefix(i + 1);
        return true;
    }
    return false;
}

// What follows a name: "=value", with spaces around the sign (RFC 9110 section 11.2). False, with
// `text` unchanged, where no sign follows.
bool take_sign(std::string_view& text) noexcept {
    std::string_view rest = text;
    skip_space(rest);
    if (rest.empty() || rest.front() != '=') return false;
    rest.remove_prefix(1);
    skip_space(rest);
    text = rest;
    return true;
}

bool add_param(auth_challenge& to, std::string_view name, std::string_view& text) {
    if (to.params.size() == most_params) return false;
    for (const auth_param& p : to.params) {
        if (equals_ignoring_case(p.name, name)) return false;
    }
    auth_param& made = to.params.emplace_back();
    made.name = name;
    if (!text.empty() && text.front() == '"') {
        text.remove_prefix(1);
        if (!take_quoted(text, made.value)) return false;
    } else {
        made.value = take_token(text);
        if (made.value.empty()) return false;
    }
    return at_comma(text);
}

// One element of the list: a parameter of the challenge before it, or a new challenge, perhaps with
// its first parameter.
bool take_element(std::string_view& text, std::vector<auth_challenge>& out, std::size_t before) {
    std::string_view word = take_token(text);
    if (word.empty()) return false;
    if (take_sign(text)) return out.size() > before && add_param(out.back(), word, text);
    out.emplace_back().scheme = word;
    if (at_comma(text)) return true;
    if (text.front() != ' ' && text.front() != '\t') return false;
    skip_space(text);
    if (take_token68(text)) return true;
    word = take_token(text);
    return !word.empty() && take_sign(text) && add_param(out.back(), word, text);
}

}  // namespace

std::optional<std::string> auth_challenge::param(std::string_view name) const {
    for (const auth_param& p : params) {
        if (equals_ignoring_case(p.name, name)) return unescape(p.value);
    }
    return std::nullopt;
}

bool parse_auth_challenges(std::string_view field, std::vector<auth_challenge>& out) {
    const std::size_t before = out.size();
    for (;;) {
        while (!field.empty() &&
               (field.front() == ' ' || field.front() == '\t' || field.front() == ','))
            field.remove_prefix(1);
        if (field.empty()) return true;
        if (!take_element(field, out, before)) {
            out.resize(before);
            return false;
        }
    }
}

std::string unescape(std::string_view quoted) {
    std::string out;
    for (std::size_t i = 0; i < quoted.size(); ++i) {
        if (quoted[i] == '\\' && i + 1 < quoted.size()) ++i;
        out += quoted[i];
    }
    return out;
}

std::string quote(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out += '"';
}

}  // namespace wire::http::detail
