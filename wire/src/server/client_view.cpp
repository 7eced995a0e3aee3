// Walks from a request's peer to its client, from the right end of what proxies wrote, by one entry
// for each proxy that is trusted (as nginx's real_ip_recursive).
//
//     X-Forwarded-For: forged, client, edge       the peer is `inner`
//     believed         -       edge's  inner's    because inner and edge are trusted
//
// The client is not trusted: what it wrote before is not looked at.
#include "client_view.hpp"

#include <algorithm>
#include <cstring>

#include "proto/field_line.hpp"
#include "wire/proto/forwarded.hpp"

namespace wire::http::detail {

bool trusts(const std::vector<network>& networks, const address& a) noexcept {
    return std::any_of(networks.begin(), networks.end(),
                       [&a](const network& n) { return n.contains(a); });
}

address address_of(const ip_endpoint& e) noexcept {
    sockaddr_in6 raw{};
    if (e.v6) {
        raw.sin6_family = AF_INET6;
        std::memcpy(&raw.sin6_addr, e.bytes.data(), 16);
    } else {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        std::memcpy(&v4.sin_addr, e.bytes.data(), 4);
        std::memcpy(&raw, &v4, sizeof v4);
    }
    address out = address::from(reinterpret_cast<const sockaddr*>(&raw));
    out.set_port(e.port);
    return out;
}

namespace {

// "" for what is no scheme of HTTP's.
std::string_view scheme_of(std::string_view proto) noexcept {
    if (equals_ignoring_case(proto, "https") || equals_ignoring_case(proto, "wss")) return "https";
    if (equals_ignoring_case(proto, "http") || equals_ignoring_case(proto, "ws")) return "http";
    return {};
}

std::string_view authority_of(std::string_view host) noexcept {
    return is_authority_of_url(host) ? host : std::string_view();
}

std::string_view trimmed(std::string_view text) noexcept {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The entries of a list in all fields of one name, from the last to the first.
class entries_from_the_right {
public:
    entries_from_the_right(const header_list& fields, std::string_view name) noexcept
        : fields_(&fields), name_(name), left_(fields.size()) {}

    // nullopt when there are no more. An empty entry counts.
    std::optional<std::string_view> next() noexcept {
        while (!in_field_) {
            if (left_ == 0) return std::nullopt;
            const header& h = (*fields_)[--left_];
            if (!equals_ignoring_case(h.name, name_)) continue;
            rest_ = h.value;
            in_field_ = true;
        }
        const std::size_t comma = rest_.rfind(',');
        in_field_ = comma != std::string_view::npos;
        const auto entry = in_field_ ? rest_.substr(comma + 1) : rest_;
        if (in_field_) rest_ = rest_.substr(0, comma);
        return trimmed(entry);
    }

private:
    const header_list* fields_;
    std::string_view name_;
    std::size_t left_;  // fields not looked at
    std::string_view rest_;
    bool in_field_ = false;
};

// One walk. `at` is who wrote the next entry to the left.
struct walk {
    const std::vector<network>& trusted;
    std::size_t most;
    address at;
    std::size_t steps = 0;

    bool goes_on() const noexcept { return steps < most && trusts(trusted, at); }
    // False when that entry names no address.
    bool step(const std::optional<forwarded_node>& to) noexcept {
        ++steps;
        if (!to || to->what != forwarded_node::kind::address) return false;
        at = address_of(to->at);
        return true;
    }
};

// The entry that the last one trusted wrote; the only one, where proxies replace it.
std::string_view entry_beside(const header_list& fields, std::string_view name,
                              std::size_t steps) noexcept {
    entries_from_the_right entries(fields, name);
    std::string_view out;
    for (std::size_t i = 0; i < std::max<std::size_t>(steps, 1); ++i) {
        const auto entry = entries.next();
        if (!entry) break;
        out = *entry;
    }
    return out;
}

void read_x_fields(const header_list& fields, const forwarded_fields& believed, walk& w,
                   client_view& out) {
    if (believed.x_forwarded_for) {
        entries_from_the_right entries(fields, "X-Forwarded-For");
        while (w.goes_on()) {
            const auto entry = entries.next();
            if (!entry || !w.step(parse_x_forwarded_for(*entry))) break;
        }
    }
    if (believed.x_forwarded_proto)
        out.scheme = scheme_of(entry_beside(fields, "X-Forwarded-Proto", w.steps));
    if (believed.x_forwarded_host)
        out.authority = authority_of(entry_beside(fields, "X-Forwarded-Host", w.steps));
}

void read_forwarded(const header_list& fields, walk& w, client_view& out) {
    std::vector<forwarded_element> elements;
    for (std::size_t i = fields.size(); i-- > 0;) {
        if (!equals_ignoring_case(fields[i].name, "Forwarded")) continue;
        std::string_view left = fields[i].value;
        while (!left.empty()) {
            if (!w.goes_on()) return;
            elements.clear();
            // What a proxy that is trusted wrote is well-formed: this is somebody else's.
            if (!parse_forwarded(take_last_forwarded(left), 1, elements)) return;
            if (elements.empty()) continue;
            const forwarded_element& e = elements.front();
            if (const auto scheme = scheme_of(e.proto); !scheme.empty()) out.scheme = scheme;
            if (const auto host = authority_of(e.host); !host.empty()) out.authority = host;
            if (!w.step(parse_forwarded_node(e.from))) return;
        }
    }
}

}  // namespace

std::optional<client_view> read_client_view(const header_list& fields, const address& peer,
                                            const forwarded_fields& believed,
                                            const std::vector<network>& trusted,
                                            const limits& bounds) {
    walk w{trusted, bounds.max_forwarded_hops, peer};
    if (!trusts(trusted, peer)) return std::nullopt;
    client_view out;
    if (believed.forwarded) {
        read_forwarded(fields, w, out);
    } else {
        read_x_fields(fields, believed, w, out);
    }
    out.from = w.at;
    return out;
}

}  // namespace wire::http::detail
