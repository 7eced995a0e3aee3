#include "plan/rotation.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace wireload {
namespace {

// A flag's or a key's text with values in it; throws the problem, caught below.
struct problem {
    std::string text;
};

text_template values_in(std::string_view what, const std::string& text) {
    auto parsed = text_template::parse(text);
    if (const auto* wrong = std::get_if<std::string>(&parsed))
        throw problem{fmt::format("{}: {}", what, *wrong)};
    return std::get<text_template>(std::move(parsed));
}

text_template whole_request(const request_options& asked, const wire::url& url, bool keep_alive) {
    text_template out;
    out.append_literal(asked.method + " ");
    out.append(values_in("path", url.target));
    out.append_literal(" HTTP/1.1\r\nHost: ");
    const auto is_host = [](const auto& h) {
        return wire::http::equals_ignoring_case(h.first, "host");
    };
    const auto host = std::find_if(asked.headers.begin(), asked.headers.end(), is_host);
    out.append(host == asked.headers.end() ? values_in("host", url.authority())
                                           : values_in("header Host", host->second));
    for (const auto& h : asked.headers) {
        if (is_host(h)) continue;
        out.append_literal("\r\n" + h.first + ": ");
        out.append(values_in("header " + h.first, h.second));
    }
    if (!keep_alive) out.append_literal("\r\nConnection: close");
    const text_template body = values_in("body", asked.body);
    if (!body.is_constant()) {
        out.append_literal("\r\nContent-Length: ");
        out.append_length_of_rest();  // ends the head as well
    } else {
        // RFC 9110 section 8.6: a method that anticipates content says its length even when that is
        // 0.
        const std::size_t size = body.size({});
        if (size != 0 || asked.method == "POST" || asked.method == "PUT" ||
            asked.method == "PATCH") {
            out.append_literal(fmt::format("\r\nContent-Length: {}", size));
        }
        out.append_literal("\r\n\r\n");
    }
    out.append(body);
    return out;
}

}  // namespace

std::variant<prepared_request, std::string> prepare_request(const request_options& asked,
                                                            const wire::url& url, bool keep_alive) {
    prepared_request out;
    out.weight = asked.weight;
    out.method = wire::http::method_from(asked.method);
    out.name = fmt::format("{} {}://{}{}", asked.method, url.scheme, url.authority(), url.target);
    try {
        out.pattern = whole_request(asked, url, keep_alive);
    } catch (problem& wrong) {
        return std::move(wrong.text);
    }
    auto checks = reply_checks::compile(asked.expect, &out.pattern);
    if (auto* wrong = std::get_if<std::string>(&checks)) return std::move(*wrong);
    out.checks = std::get<reply_checks>(std::move(checks));
    if (out.pattern.is_constant()) out.bytes = out.pattern.text({});
    return out;
}

void prepared_request::repeat(std::uint32_t in_flight) {
    if (!constant()) return;
    const std::size_t copies = std::min<std::size_t>(in_flight, send_bytes / bytes.size());
    for (std::size_t i = 0; i < copies; ++i) block += bytes;
}

std::vector<std::uint32_t> spread(std::span<const std::uint32_t> weights) {
    std::uint32_t divisor = 0;
    for (const std::uint32_t w : weights) divisor = std::gcd(divisor, w);
    // Occurrence k of weight w falls due at (k + 1/2) / w of a round.
    struct turn {
        double due;
        std::uint32_t who;
    };
    std::vector<turn> turns;
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
        const std::uint32_t times = weights[i] / divisor;
        for (std::uint32_t k = 0; k < times; ++k) turns.push_back({(k + 0.5) / times, i});
    }
    std::stable_sort(turns.begin(), turns.end(),
                     [](const turn& a, const turn& b) { return a.due < b.due; });
    std::vector<std::uint32_t> out;
    for (const turn& t : turns) out.push_back(t.who);
    return out;
}

}  // namespace wireload
