// Weighs the codings of Accept-Encoding against each other.
#include "wire/proto/accept_encoding.hpp"

#include <algorithm>
#include <optional>

#include "char_tables.hpp"

namespace wire::http {

std::string_view to_string(content_coding c) noexcept {
    switch (c) {
    case content_coding::identity: break;
    case content_coding::gzip: return "gzip";
    case content_coding::deflate: return "deflate";
    }
    return {};
}

namespace {

// qvalue of RFC 9110 section 12.4.2 in thousandths, or -1.
int parse_weight(std::string_view text) noexcept {
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return -1;
    if (text.size() > 1 && text[1] != '.') return -1;
    int value = text[0] - '0';
    for (std::size_t i = 2; i < 5; ++i) {
        const char c = i < text.size() ? text[i] : '0';
        if (!detail::is_digit(c)) return -1;
        value = value * 10 + (c - '0');
    }
    return value <= 1000 ? value : -1;
}

struct weights {
    std::optional<int> gzip;
    std::optional<int> deflate;
    std::optional<int> identity;
    std::optional<int> any;

    void element(std::string_view text) noexcept {
        const std::size_t semicolon = std::min(text.find(';'), text.size());
        const std::string_view name = detail::trim(text.substr(0, semicolon));
        int weight = 1000;
        if (semicolon < text.size()) {
            const std::string_view parameter = detail::trim(text.substr(semicolon + 1));
            if (parameter.size() < 2 || detail::lower(parameter[0]) != 'q' || parameter[1] != '=')
                return;
            weight = parse_weight(parameter.substr(2));
            if (weight < 0) return;
        }
        const auto is = [&](std::string_view coding) { return equals_ignoring_case(name, coding); };
        if (is("gzip") || is("x-gzip")) {
            gzip = weight;
        } else if (is("deflate")) {
            deflate = weight;
        } else if (is("identity")) {
            identity = weight;
        } else if (name == "*") {
            any = weight;
        }
    }
};

}  // namespace

content_coding preferred_coding(const header_list& fields) noexcept {
    weights w;
    for (const header& field : fields) {
        if (!detail::name_is(field.name, "accept-encoding")) continue;
        for (std::string_view left = field.value; !left.empty();) {
            const std::size_t end = std::min(left.find(','), left.size());
            w.element(left.substr(0, end));
            left.remove_prefix(std::min(end + 1, left.size()));
        }
    }
    const int gzip = w.gzip.value_or(w.any.value_or(0));
    const int deflate = w.deflate.value_or(w.any.value_or(0));
    const int identity = w.identity.value_or(0);
    if (gzip > 0 && gzip >= deflate && gzip >= identity) return content_coding::gzip;
    if (deflate > 0 && deflate >= identity) return content_coding::deflate;
    return content_coding::identity;
}

}  // namespace wire::http
