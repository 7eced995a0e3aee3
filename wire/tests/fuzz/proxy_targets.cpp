// What proxies say of those they speak for, and to those that they serve.
#include <string>
#include <vector>

#include "client/socks5.hpp"
#include "harness.hpp"
#include "targets.hpp"
#include "wire/proto/forwarded.hpp"
#include "wire/proto/ip_endpoint.hpp"
#include "wire/proto/proxy_header.hpp"

namespace wire::fuzz {

namespace {

// What the parser says of all pieces, and how many bytes it used up.
std::string said(const testing::pieces& cut) {
    proxy_header_parser parser(300);
    std::size_t used = 0;
    auto what = proxy_header_parser::event::need_more;
    for (const auto piece : cut) {
        if (what != proxy_header_parser::event::need_more) break;
        const testing::exact_copy copy(piece);
        const auto s = parser.parse(copy);
        require(s.consumed <= piece.size(), "more used up than there was");
        what = s.what;
        require(what != proxy_header_parser::event::need_more || s.consumed == piece.size(),
                "more wanted, and not all used up");
        used += s.consumed;
    }
    if (what == proxy_header_parser::event::failed) return "failed";
    require(used <= 300, "a header beyond the limit");
    if (what == proxy_header_parser::event::need_more) return "more";
    const proxy_header& h = parser.header();
    require(h.what != proxy_header::kind::ip || h.source.v6 == h.destination.v6,
            "addresses of two families");
    std::string out = std::to_string(used) + " " + std::to_string(static_cast<int>(h.what));
    for (const auto* e : {&h.source, &h.destination}) {
        for (const auto b : e->bytes) out += " " + std::to_string(b);
        out += ":" + std::to_string(e->port);
    }
    return out;
}

// What a client of SOCKS5 sends, and what it makes of the proxy's answers. What follows them is an
// error where it comes with them, and the server's where it comes later.
std::string tunnelled(const testing::pieces& cut, bool with_user) {
    detail::proxy_server proxy;
    if (with_user) proxy.user = proxy.password = "u";
    detail::socks5_tunnel t(proxy, "a.b", 80);
    buffer out;
    require(t.begin(out).ok(), "a good destination was refused");
    for (const auto piece : cut) {
        const testing::exact_copy copy(piece);
        const auto open = t.receive(std::string_view(copy), out);
        require(out.size() <= 30, "more said than there is to say");
        if (open && !*open) continue;
        const std::string end = open ? "open" : open.error().message;
        return std::string(out.view()) + (end == "it sent more than its answers" ? "open" : end);
    }
    return std::string(out.view()) + "more";
}

void check_node(std::string_view text) {
    const auto strict = http::parse_forwarded_node(text);
    const auto lenient = http::parse_x_forwarded_for(text);
    require(!strict || lenient, "a node that X-Forwarded-For may not hold");
    if (lenient && lenient->what != http::forwarded_node::kind::address)
        require(lenient->at == ip_endpoint(), "an address of nobody");
    require(!parse_ipv4(text) || !parse_ipv6(text), "an address of both families");
}

}  // namespace

void proxy_bytes(std::string_view input) { compare_cuts(input, said); }

void socks5(std::string_view input) {
    const bool with_user = !input.empty() && input.front() % 2 != 0;
    compare_cuts(input, [with_user](const testing::pieces& c) { return tunnelled(c, with_user); });
}

// Forwarded and X-Forwarded-For.
void forwarded(std::string_view input) {
    const testing::exact_copy copy(input);
    const std::string_view all = copy;
    std::vector<http::forwarded_element> elements;
    if (http::parse_forwarded(all, 20, elements)) {
        require(elements.size() <= 20, "more elements than the limit");
        for (const auto& e : elements) {
            for (const auto part : {e.by, e.from, e.host, e.proto}) {
                require(part.data() == nullptr ||
                            (part.data() >= all.data() &&
                             part.data() + part.size() <= all.data() + all.size()),
                        "a view of something else");
                check_node(part);
            }
        }
    }
    for (std::string_view rest = all; !rest.empty();) {
        const auto entry = rest.substr(0, rest.find(','));
        check_node(entry);
        rest.remove_prefix(entry.size() < rest.size() ? entry.size() + 1 : rest.size());
    }
}

}  // namespace wire::fuzz
