// What a client reads beyond the strict grammar.
#include <algorithm>
#include <string>
#include <vector>

#include "client/digest.hpp"
#include "harness.hpp"
#include "http_transcript.hpp"
#include "proto/auth_challenge.hpp"
#include "proto/content_range.hpp"
#include "proto/mended_head.hpp"
#include "targets.hpp"

namespace wire::fuzz {

namespace {

using state = http::detail::mending::state;

// What comes of a head in pieces, and how many bytes of them it took.
std::string mended(const testing::pieces& cut) {
    const limits l = small_limits();
    std::string held;
    buffer out;
    for (const auto piece : cut) {
        held += piece;
        const testing::exact_copy copy(held);
        const auto m = http::detail::mend_response_head(copy, l, out);
        if (m.what == state::failed) return std::string(to_string(m.error));
        if (m.what == state::incomplete) continue;
        require(m.consumed <= held.size() && m.consumed <= l.max_header_bytes,
                "more consumed than there was");
        return std::to_string(m.consumed) + " " + std::string(out.view());
    }
    return "incomplete";
}

// What is answered to a challenge says what the challenge said.
void check_digest_answer(const http::detail::digest_challenge& c) {
    auto session = http::detail::digest_session::begin(c, "a\"user", "password", "cnonce");
    require(session.has_value(), "a challenge was chosen that cannot be answered");
    const std::string said = session->answer("GET", "/a\"b\\c");
    require(http::is_field_value(said), "an answer that no field can hold");
    std::vector<http::detail::auth_challenge> read;
    require(http::detail::parse_auth_challenges(said, read) && read.size() == 1,
            "a malformed answer");
    const auto& back = read.front();
    require(back.param("realm") == c.realm && back.param("nonce") == c.nonce &&
                back.param("opaque") == c.opaque && back.param("uri") == "/a\"b\\c",
            "an answer to something else");
}

}  // namespace

// WWW-Authenticate: each line is a field.
void challenges(std::string_view input) {
    const testing::exact_copy copy(input);
    http::header_list fields;
    for (std::string_view rest = copy; !rest.empty();) {
        const std::string_view line = take_line(rest);
        if (!http::is_field_value(line)) continue;
        std::vector<http::detail::auth_challenge> found;
        if (http::detail::parse_auth_challenges(line, found)) {
            for (const auto& one : found) {
                require(http::is_token(one.scheme), "a scheme that is no token");
                for (const auto& p : one.params) {
                    require(http::is_token(p.name), "a name that is no token");
                    const std::string plain = http::detail::unescape(p.value);
                    const std::string quoted = http::detail::quote(plain);
                    require(http::detail::unescape(
                                std::string_view(quoted).substr(1, quoted.size() - 2)) == plain,
                            "a value changed");
                }
            }
        } else {
            require(found.empty(), "something of a malformed field");
        }
        fields.push_back({"WWW-Authenticate", line});
    }
    if (const auto c = http::detail::choose_digest(fields)) check_digest_answer(*c);
}

void content_range(std::string_view input) {
    const testing::exact_copy copy(input);
    const auto r = http::detail::parse_content_range(copy);
    if (!r) return;
    require(r->first <= r->last && (!r->whole || r->last < *r->whole), "an impossible part");
    const auto again = http::detail::parse_content_range(
        "bytes " + std::to_string(r->first) + "-" + std::to_string(r->last) + "/" +
        (r->whole ? std::to_string(*r->whole) : "*"));
    require(again && again->first == r->first && again->last == r->last && again->whole == r->whole,
            "a part changed");
}

void mended_head(std::string_view input) {
    if (input.empty()) return;
    compare_cuts(input, mended);
    input.remove_prefix(1);
    limits l = small_limits();
    buffer out;
    const auto m = http::detail::mend_response_head(input, l, out);
    http::response_head strict;
    http::response_parser strict_parser(l);
    const testing::exact_copy copy(input);
    const auto s = strict_parser.parse(copy, strict);
    const bool accepted = s.what == http::event::head || s.what == http::event::interim;
    if (m.what != state::complete) {
        require(!accepted, "a good head was not taken");
        return;
    }
    // Lines may have become longer by a CR each, the status line by a space.
    l.max_header_bytes = 2 * l.max_header_bytes + 4;
    http::response_head head;
    http::response_parser parser(l);
    const auto read = parser.parse_in_place(out.bytes(), head);
    require(read.what != http::event::need_more, "a mended head without an end");
    if (read.what != http::event::error)
        require(read.consumed == out.size(), "more than one head came of one");
    if (!accepted) return;
    head.reason = strict.reason = {};  // spaces around it are removed
    require(testing::describe(head) == testing::describe(strict) && s.consumed == m.consumed,
            "a good head was changed");
}

}  // namespace wire::fuzz
