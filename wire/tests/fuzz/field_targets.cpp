// What fields and URLs mean, as opposed to how messages are cut out of bytes.
#include <string>
#include <vector>

#include "harness.hpp"
#include "targets.hpp"
#include "wire/proto/accept_encoding.hpp"
#include "wire/proto/conditional.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/proto/lenient_date.hpp"
#include "wire/proto/url.hpp"
#include "wire/proto/ws_deflate.hpp"
#include "wire/proto/ws_handshake.hpp"
#include "wire/proto/ws_reader.hpp"

namespace wire::fuzz {

namespace {

// As in the examples of RFC 6455.
constexpr std::string_view key = "dGhlIHNhbXBsZSBub25jZQ==";

void check_server_handshake(const http::request_head& head) {
    const ws::upgrade_check asked = ws::check_upgrade_request(head);
    require((asked.error == errc::none) == (asked.refusal == 0), "refused without a status");
    if (!asked.wanted || asked.error != errc::none) return;
    require(ws::extensions_are_well_formed(head.headers), "extensions that break the grammar");
    static const std::vector<std::string> named{"https://a.example", "null"};
    static const std::vector<std::string> all{"*"};
    for (const std::string_view scheme : {"", "http", "https"}) {
        const auto lets_in = [&head, scheme](std::span<const std::string> origins) {
            return ws::is_allowed_origin(head.headers, {head.authority, scheme}, origins);
        };
        require(!lets_in({}) || lets_in(named), "an origin shut out by a list");
        require(!lets_in(named) || lets_in(all), "an origin beyond all");
        require(!lets_in({}) || ws::is_allowed_origin(head.headers, {head.authority, ""}, {}),
                "an origin that only a known scheme lets in");
    }
    static const std::vector<std::string> spoken{"superchat", "chat"};
    const std::string_view protocol = ws::choose_protocol(head.headers, spoken);
    require(protocol.empty() || protocol == spoken[0] || protocol == spoken[1],
            "a subprotocol that is not spoken");
    buffer answer;
    require(ws::write_upgrade_response(answer, asked.key, protocol) == errc::none,
            "a key or subprotocol that cannot be answered");
    for (const bool takeover : {false, true}) {
        const ws::deflate_options options{.context_takeover = takeover,
                                          .peer_context_takeover = takeover,
                                          .peer_window_bits = takeover ? 15 : 10};
        const auto accepted = ws::accept_deflate(head.headers, options);
        if (!accepted) continue;
        for (const auto& side : {accepted->agreed.server, accepted->agreed.client}) {
            require(side.window_bits >= 8 && side.window_bits <= 15, "a window that there is not");
        }
        require(accepted->agreed.server.window_bits >= 9, "a window that zlib cannot make");
        http::header_list fields;
        fields.push_back({"Sec-WebSocket-Extensions", accepted->answer});
        require(ws::extensions_are_well_formed(fields), "an answer that breaks the grammar");
    }
}

void check_client_handshake(const http::response_head& head) {
    for (const bool offered : {false, true}) {
        const ws::deflate_options options{.context_takeover = true, .peer_context_takeover = true};
        std::optional<ws::deflate_agreement> agreed;
        if (!ws::check_upgrade_response(head, key, "chat, superchat", offered ? &options : nullptr,
                                        &agreed))
            continue;
        require(head.status == 101, "accepted by another status");
        require(!agreed || offered, "agreed to what was not offered");
    }
}

// One line each; where a line is no field it ends.
http::header_list fields_of(std::string_view text) {
    http::header_list out;
    while (!text.empty()) {
        const std::string_view line = take_line(text);
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || !http::is_token(line.substr(0, colon)) ||
            !http::is_field_value(line.substr(colon + 1)))
            break;
        out.push_back({line.substr(0, colon), line.substr(colon + 1)});
    }
    return out;
}

}  // namespace

// A request with which a WebSocket begins, or the answer to one.
void handshake(std::string_view input) {
    const limits l;
    const testing::exact_copy copy(input);
    http::request_head request;
    http::request_parser as_request(l);
    if (as_request.parse(copy, request).what == http::event::head) check_server_handshake(request);
    http::response_head response;
    http::response_parser as_response(l);
    as_response.expect(http::method::get);
    if (as_response.parse(copy, response).what == http::event::head)
        check_client_handshake(response);
}

// Messages written with what the first two bytes choose, and read by the other side. The bytes are
// cut at the lengths that their first bytes say.
void deflate(std::string_view input) {
    if (!compression_available() || input.size() < 2) return;
    const unsigned chosen = static_cast<unsigned char>(input[0]);
    const unsigned also = static_cast<unsigned char>(input[1]);
    input.remove_prefix(2);
    const auto writes = (chosen & 1) != 0 ? ws::role::client : ws::role::server;
    const auto reads = writes == ws::role::client ? ws::role::server : ws::role::client;
    const bool takeover = (chosen & 2) != 0;
    const int bits = 9 + static_cast<int>((chosen >> 2) % 7);
    const ws::deflate_options options{.context_takeover = takeover,
                                      .level = static_cast<int>(1 + also % 9),
                                      .window_bits = bits,
                                      .memory_level = static_cast<int>(1 + (also / 9) % 9),
                                      .min_bytes = (chosen >> 5) % 4U * 20,
                                      .peer_context_takeover = takeover};
    const ws::deflate_agreement::direction way{.window_bits = static_cast<std::uint8_t>(bits),
                                               .context_takeover = takeover};
    const limits l;
    ws::deflate_pool pool;
    ws::permessage_deflate writer(writes, {way, way}, options, pool, l);
    ws::permessage_deflate inflater(reads, {way, way}, options, pool, l);
    ws::message_reader reader(reads, l, &inflater);
    while (!input.empty()) {
        const std::string_view message = input.substr(1, static_cast<unsigned char>(input[0]) * 4U);
        input.remove_prefix(1 + message.size());
        buffer sent;
        const ws::mask_key mask{1, 2, 3, 4};
        writer.append_message(sent, ws::opcode::binary, message,
                              writes == ws::role::client ? std::optional(mask) : std::nullopt);
        std::string held;  // byte by byte every other message
        const std::string all(sent.view());
        const std::size_t step = message.size() % 2 == 0 ? all.size() : 1;
        std::optional<std::string> got;
        for (std::size_t at = 0; at < all.size(); at += step) {
            held += all.substr(at, step);
            const ws::step s = reader.read({held.data(), held.size()});
            require(s.what == ws::event::message || s.what == ws::event::need_more,
                    "what was written cannot be read");
            if (s.what == ws::event::message) got = s.data;
            held.erase(0, s.consumed);
        }
        require(got == message && held.empty(), "another message was read than was written");
    }
}

// Fields that ask for a version, a part or a coding of something; the first byte says how large it
// is.
void conditions(std::string_view input) {
    if (input.empty()) return;
    const std::uint64_t size = static_cast<unsigned char>(input.front());
    const testing::exact_copy copy(input.substr(1));
    const auto fields = fields_of(copy);
    const http::validators v{.etag = "\"abc\"", .modified = 784111777, .date_is_strong = true};
    for (const auto m : {http::method::get, http::method::put}) {
        const auto said = http::check_preconditions(fields, m, v);
        require(said != http::precondition::not_modified || m == http::method::get,
                "a change that is not modified");
    }
    std::vector<http::byte_range> ranges;
    const std::size_t most = 3;
    const auto kind = http::check_ranges(fields, v, size, most, ranges);
    if (kind == http::range_kind::partial) {
        require(!ranges.empty() && ranges.size() <= most, "too many ranges");
        std::uint64_t all = 0;
        for (const auto& r : ranges) {
            require(r.length > 0 && r.first < size && r.length <= size - r.first,
                    "a range beyond the end");
            all += r.length;
        }
        require(all <= size, "ranges that overlap");
    }
    const auto coding = http::preferred_coding(fields);
    require(coding == http::content_coding::identity || fields.find("accept-encoding"),
            "a coding that nobody asked for");
    for (const auto& f : fields) {
        const auto strict = http::parse_date(f.value);
        const auto lenient = http::parse_lenient_date(f.value);
        // RFC 6265 wants years from 1601 on, and no leap seconds.
        constexpr std::int64_t year_1601 = -11644473600;
        if (strict && *strict >= year_1601 && f.value.find(":60") == std::string_view::npos)
            require(lenient == strict, "two readings of one date");
    }
}

// A base and, on the next line, a reference.
void reference(std::string_view input) {
    const std::string base(take_line(input));
    const testing::exact_copy copy(input);
    const std::string means = resolve_reference(base, copy);
    require(means.size() <= base.size() + input.size() + 4, "longer than its parts");
    if (const auto u = parse_url(base)) {
        // An absolute URL means the same whatever the base is, except that dots in the base's path
        // stay where the reference has no path.
        const std::string once = resolve_reference(base, means);
        if (parse_url(means))
            require(resolve_reference(base, once) == once, "a resolved reference changes");
    }
    const std::string encoded = percent_encode(copy);
    require(percent_decode(encoded).ok() && *percent_decode(encoded) == input,
            "encoding cannot be undone");
    if (const auto u = parse_url(base)) {
        const auto added = parse_url(with_query(base, input, input));
        require(added.ok() && added->host == u->host && added->target.size() > u->target.size(),
                "a query that breaks its URL");
    }
}

}  // namespace wire::fuzz
