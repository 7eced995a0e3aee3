// Weighs the codings of Accept-Encoding against each other.
#include "wire/proto/accept_encoding.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "char_tables.hpp"

namespace wire::http {

std::string_view to_string(content_coding c) noexcept {
    switch (c) {
    case content_coding::identity: break;
    case content_coding::gzip: return "gzip";
    case content_coding::deflate: return "deflate";
    case content_coding::br: return "br";
    case content_coding::zstd: return "zstd";
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
    std::array<std::optional<int>, coding_list::most> by_coding;  // by content_coding
    std::optional<int> any;

    std::optional<int>& of(content_coding c) noexcept {
        return by_coding[static_cast<std::size_t>(c)];
    }
    // 0: not acceptable. Identity counts only where it is named.
    int value(content_coding c) noexcept {
        return of(c).value_or(c == content_coding::identity ? 0 : any.value_or(0));
    }

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
            of(content_coding::gzip) = weight;
        } else if (is("deflate")) {
            of(content_coding::deflate) = weight;
        } else if (is("br")) {
            of(content_coding::br) = weight;
        } else if (is("zstd")) {
            of(content_coding::zstd) = weight;
        } else if (is("identity")) {
            of(content_coding::identity) = weight;
        } else if (name == "*") {
            any = weight;
        }
    }
};

weights weights_in(const header_list& fields) noexcept {
    weights w;
    for (const header& field : fields) {
        if (!detail::name_is(field.name, "accept-encoding")) continue;
        for (std::string_view left = field.value; !left.empty();) {
            const std::size_t end = std::min(left.find(','), left.size());
            w.element(left.substr(0, end));
            left.remove_prefix(std::min(end + 1, left.size()));
        }
    }
    return w;
}

}  // namespace

content_coding preferred_coding(const header_list& fields,
                                std::span<const content_coding> among) noexcept {
    const coding_list all = accepted_codings(fields, among);
    return all.empty() ? content_coding::identity : *all.begin();
}

coding_list accepted_codings(const header_list& fields,
                             std::span<const content_coding> among) noexcept {
    weights w = weights_in(fields);
    std::array<content_coding, coding_list::most> sorted{};
    std::size_t n = 0;
    for (const content_coding c : among) {
        const int weight = w.value(c);
        if (n == sorted.size() || weight == 0 || weight < w.value(content_coding::identity))
            continue;
        std::size_t at = n++;
        for (; at > 0 && w.value(sorted[at - 1]) < weight; --at) sorted[at] = sorted[at - 1];
        sorted[at] = c;
    }
    coding_list all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(sorted[i]);
    return all;
}

}  // namespace wire::http
