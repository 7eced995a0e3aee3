// Fuzz targets of the message parsers: what is cut out of bytes.
#include "targets.hpp"

#include <array>
#include <string>

#include "harness.hpp"
#include "http_transcript.hpp"
#include "proto/body_coding.hpp"
#include "wire/proto/base64.hpp"
#include "wire/proto/compression.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/proto/url.hpp"
#include "wire/proto/utf8.hpp"
#include "wire/proto/ws_deflate.hpp"
#include "wire/proto/ws_reader.hpp"

namespace wire::fuzz {

namespace {

template <typename Parser, typename Head>
std::string http(const testing::pieces& cut, bool in_place = false) {
    const limits l = small_limits();
    Parser parser(l);
    testing::http_transcript<Parser, Head> transcript(parser, in_place);
    for (const auto piece : cut) {
        if (!transcript.broken()) transcript.feed(piece);
    }
    return transcript.text();
}

std::string messages(const testing::pieces& cut, ws::role r, bool compressed) {
    const limits l = small_limits();
    ws::deflate_pool pool;
    ws::permessage_deflate deflate(r, {}, {}, pool, l);
    ws::message_reader reader(r, l, compressed ? &deflate : nullptr);
    std::string held;
    std::string said;
    for (const auto piece : cut) {
        held += piece;
        std::size_t at = 0;
        for (;;) {
            testing::exact_copy in(std::string_view(held).substr(at));
            const ws::step s = reader.read({in.data(), in.size()});
            require(s.consumed <= in.size(), "more consumed than there was");
            at += s.consumed;
            if (s.what == ws::event::need_more) break;
            said += std::to_string(static_cast<int>(s.what)) + "," +
                    std::to_string(static_cast<int>(s.error)) + "," + std::to_string(s.code) + "," +
                    std::string(s.data) + ";";
            if (s.what == ws::event::error) return said;
            require(s.data.size() <= l.max_message_bytes, "a message beyond the limit");
            if (s.what == ws::event::message && s.op == ws::opcode::text)
                require(is_utf8(s.data), "text that is not UTF-8");
        }
        held.erase(0, at);
    }
    return said;
}

}  // namespace

void request(std::string_view input) {
    compare_cuts(input, [](const testing::pieces& p) {
        return http<http::request_parser, http::request_head>(p);
    });
    const limits l = small_limits();
    http::request_parser parser(l);
    http::request_head head;
    const testing::exact_copy copy(input);
    if (parser.parse(copy, head).what != http::event::head) return;
    const auto path = canonical_path(head.path);
    require(path.ok(), "a path that could mean two things");
    require((*path != head.path) == head.path_is_escaped, "a path that is said to be escaped");
}

void response(std::string_view input) {
    compare_cuts(input, [](const testing::pieces& p) {
        return http<http::response_parser, http::response_head>(p);
    });
    compare_cuts(input, [](const testing::pieces& p) {
        return http<http::response_parser, http::response_head>(p, true);
    });
    // Changing the bytes makes no difference but to folds.
    const std::string strict = http<http::response_parser, http::response_head>({input});
    if (strict.find("error folded") == std::string::npos)
        require(strict == http<http::response_parser, http::response_head>({input}, true),
                "a response without folds was changed");
}

void frames(std::string_view input) {
    for (const ws::role r : {ws::role::server, ws::role::client}) {
        compare_cuts(input, [r](const testing::pieces& p) { return messages(p, r, false); });
        if (compression_available())
            compare_cuts(input, [r](const testing::pieces& p) { return messages(p, r, true); });
    }
}

void text(std::string_view input) {
    testing::exact_copy copy(input);
    const std::string_view t = copy;
    if (const auto u = parse_url(t)) {
        // What was accepted is a URL again, and the same one.
        const auto again = parse_url(u->scheme + "://" + u->authority() + u->target);
        require(again.ok() && again->host == u->host && again->port == u->port &&
                    again->target == u->target,
                "a URL changed");
    }
    if (const auto plain = percent_decode(t))
        require(plain->size() <= t.size(), "decoding made it longer");
    if (const auto path = canonical_path(t)) {
        require(path->find('\0') == std::string::npos, "a path with NUL");
        std::string again;
        std::string_view rest = *path;
        for (bool last = false; !last;) {
            const std::size_t slash = rest.find('/');
            last = slash == std::string_view::npos;
            const std::string_view segment = rest.substr(0, slash);
            require(segment != "." && segment != "..", "a dot segment");
            again += percent_encode(segment) + (last ? "" : "/");
            if (!last) rest.remove_prefix(slash + 1);
        }
        const auto twice = canonical_path(again);
        require(twice.ok() && *twice == *path, "a path that means something else encoded");
    }
    if (const auto bytes = base64_decode(t)) {
        require(base64_encode(
                    {reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()}) == t,
                "Base64 that is not canonical");
    }
    compare_cuts(t, [](const testing::pieces& p) {
        utf8_validator v;
        bool good = true;
        for (const auto piece : p) good = v.feed(piece) && good;
        return std::string(good ? (v.complete() ? "good" : "open") : "bad");
    });
}

// The input after its first byte, as compressed data (the byte also chooses the wrapping), and as
// something to compress.
void inflate(std::string_view input) {
    if (!compression_available() || input.empty()) return;
    const unsigned seed = static_cast<unsigned char>(input.front());
    const auto c = static_cast<coding>(seed % 3);
    compare_cuts(input, [c, seed](const testing::pieces& p) {
        auto unpacker = decompressor::create(c);
        buffer out;
        decompressor::step s;
        for (const auto piece : p) {
            const testing::exact_copy copy(piece);
            std::string_view rest = copy;
            do {
                const std::size_t room = seed + 1;
                const std::size_t before = out.size();
                s = unpacker->add(rest, room, out);
                require(s.used <= rest.size() && out.size() - before <= room,
                        "more used or given than there was");
                rest.remove_prefix(s.used);
            } while (s.more && out.size() < 64 * 1024);
            if (out.size() >= 64 * 1024) return std::string("long");
        }
        // How much comes out before an error is seen depends on the cut.
        return s.error != errc::none ? std::string("bad")
                                     : std::string(out.view()) + (s.ended ? "." : "");
    });
    auto packer = compressor::create(
        c, {.level = static_cast<int>(seed % 10), .window_bits = 9 + static_cast<int>(seed % 7)});
    auto unpacker = decompressor::create(c);
    buffer packed, plain;
    const std::string_view head = input.substr(0, input.size() / 2);
    require(packer->add(head, flush::sync, packed) == errc::none &&
                packer->add(input.substr(head.size()), flush::finish, packed) == errc::none,
            "not compressed");
    require(unpacker->add(packed.view(), input.size() + 1, plain).ended && plain.view() == input,
            "not what was compressed");
}

// The input after its first byte as a body in gzip, deflate, br or zstd; that byte also says how
// much is taken at a time.
void unpack(std::string_view input) {
    if (input.empty()) return;
    const unsigned seed = static_cast<unsigned char>(input.front());
    constexpr std::array<std::string_view, 4> names{"gzip", "deflate", "br", "zstd"};
    limits l;
    l.max_body_bytes = 64 * 1024;
    if (!http::body_decoder::of(names[seed % 4], l)) return;
    compare_cuts(input.substr(1), [&](const testing::pieces& p) {
        auto by = http::body_decoder::of(names[seed % 4], l);
        buffer out;
        for (const auto piece : p) {
            const testing::exact_copy copy(piece);
            std::string_view rest = copy;
            while (!rest.empty() || by->has_more()) {
                const std::size_t before = out.size();
                const errc failed = by->add(rest, seed + 1, out);
                require(out.size() - before <= seed + 1, "more given than was asked for");
                if (failed != errc::none) return std::string("bad");
            }
        }
        return by->finish() == errc::none ? std::string(out.view()) : std::string("open");
    });
}

}  // namespace wire::fuzz
