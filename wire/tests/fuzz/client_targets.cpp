// What a client reads beyond the strict grammar.
#include <algorithm>
#include <string>

#include "harness.hpp"
#include "http_transcript.hpp"
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

}  // namespace

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
