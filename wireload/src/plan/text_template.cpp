#include "plan/text_template.hpp"

#include <utility>

#include <fmt/format.h>

namespace wireload {
namespace {

constexpr std::uint64_t highest_random = 2'147'483'647;  // what every language's int takes

// The name between braces at the front of `text`, as in "{name}"; empty when there is none.
std::string_view braced(std::string_view text) {
    constexpr std::size_t longest = 64;
    if (text.empty() || text[0] != '{') return {};
    const std::size_t end = text.substr(0, longest).find('}');
    return end == std::string_view::npos ? std::string_view() : text.substr(1, end - 1);
}

bool is_placeholder(std::string_view name, bool short_counter) {
    return name == "counter" || name == "random" || name == "uuid" || name.starts_with("random:") ||
           (short_counter && name == "c");
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool parse_number(std::string_view text, std::uint64_t& out) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
    return failure == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::variant<text_template, std::string> text_template::parse(std::string_view text,
                                                              bool short_counter) {
    text_template out;
    std::size_t plain = 0;  // up to here all is in `out`
    std::size_t at = 0;
    while ((at = text.find('{', at)) != std::string_view::npos) {
        if (is_placeholder(braced(text.substr(at + 1)), short_counter)) {
            // "{{counter}": one brace, and the rest as it is.
            out.append_literal(text.substr(plain, at - plain));
            plain = at + 1;
            at += 2;
            continue;
        }
        const std::string_view name = braced(text.substr(at));
        if (!is_placeholder(name, short_counter)) {
            ++at;
            continue;
        }
        out.append_literal(text.substr(plain, at - plain));
        piece p;
        if (name == "uuid") {
            p.what = kind::uuid;
        } else if (name.starts_with("random")) {
            p.what = kind::random;
            p.span = highest_random;
            if (name != "random") {
                const std::string_view range = name.substr(7);
                const std::size_t dash = range.find('-');
                std::uint64_t high = 0;
                if (dash == std::string_view::npos || !parse_number(range.substr(0, dash), p.low) ||
                    !parse_number(range.substr(dash + 1), high) || high < p.low) {
                    return fmt::format(
                        "'{{{}}}': write two whole numbers, the smaller first, as in "
                        "{{random:1-1000}}",
                        name);
                }
                p.span = high - p.low;
            }
        } else {
            p.what = kind::counter;
        }
        out.append_value(std::move(p));
        at += name.size() + 2;
        plain = at;
    }
    out.append_literal(text.substr(plain));
    return out;
}

void text_template::append_literal(std::string_view text) {
    if (text.empty()) return;
    literal_bytes_ += text.size();
    if (!pieces_.empty() && pieces_.back().what == kind::literal) {
        pieces_.back().literal += text;
    } else {
        pieces_.push_back({.what = kind::literal, .literal = std::string(text)});
    }
}

void text_template::append(const text_template& other) {
    for (const piece& p : other.pieces_) {
        if (p.what == kind::literal) {
            append_literal(p.literal);
        } else {
            append_value(p);
        }
    }
}

void text_template::append_length_of_rest() {
    append_value({.what = kind::length_of_rest});
    // A piece of its own, so that what is appended next is not joined to it: the end of the head is
    // not of the rest.
    pieces_.push_back({.what = kind::literal, .literal = "\r\n\r\n"});
    pieces_.push_back({.what = kind::literal});
}

void text_template::append_value(piece p) {
    p.place = pieces_.size();
    pieces_.push_back(std::move(p));
    ++values_;
}

std::optional<std::string> text_template::take_values_of(const text_template& request) {
    const auto is_drawn = [](const piece& p) {
        return p.what == kind::random || p.what == kind::uuid;
    };
    auto theirs = request.pieces_.begin();
    std::size_t count = 0;
    for (piece& p : pieces_) {
        if (!is_drawn(p)) continue;
        ++count;
        theirs = std::find_if(theirs, request.pieces_.end(), is_drawn);
        if (theirs == request.pieces_.end()) {
            return fmt::format(
                "its random value number {} has none to be equal to: the request has {}", count,
                count - 1);
        }
        if (theirs->what != p.what) {
            return fmt::format("its random value number {} is {} and the request's is {}", count,
                               p.what == kind::uuid ? "a {uuid}" : "a {random}",
                               theirs->what == kind::uuid ? "a {uuid}" : "a {random}");
        }
        p.low = theirs->low;
        p.span = theirs->span;
        p.place = theirs->place;
        ++theirs;
    }
    return std::nullopt;
}

bool text_template::has_counter() const {
    return std::any_of(pieces_.begin(), pieces_.end(),
                       [](const piece& p) { return p.what == kind::counter; });
}

std::string_view text_template::drawn(const piece& p, template_values v, value_text& room) const {
    if (p.what == kind::length_of_rest) return number(size_from(p.place + 2, v), room);
    const std::uint64_t bits =
        mix(v.seed + v.counter * golden_gamma + p.place * 0xd1342543de82ef95U);
    if (p.what == kind::random) {
        // The range scaled by 64 random bits (Lemire 2019): uniform to one part in 2^64 / range.
        __extension__ using wide = unsigned __int128;
        return number(p.low + static_cast<std::uint64_t>((wide{bits} * (wide{p.span} + 1)) >> 64),
                      room);
    }
    const std::uint64_t words[] = {bits, mix(bits + golden_gamma)};
    char* to = room.bytes;
    for (int i = 0; i < 16; ++i) {
        auto byte = static_cast<unsigned>(words[i / 8] >> (8 * (i % 8)) & 0xff);
        if (i == 6) byte = (byte & 0x0f) | 0x40;  // the version
        if (i == 8) byte = (byte & 0x3f) | 0x80;  // the variant
        if (i == 4 || i == 6 || i == 8 || i == 10) *to++ = '-';
        *to++ = "0123456789abcdef"[byte >> 4];
        *to++ = "0123456789abcdef"[byte & 15];
    }
    return {room.bytes, sizeof room.bytes};
}

std::size_t text_template::size_from(std::size_t index, template_values v) const {
    std::size_t sum = 0;
    value_text room;
    for (std::size_t i = index; i < pieces_.size(); ++i) {
        sum += pieces_[i].what == kind::literal ? pieces_[i].literal.size()
                                                : value(pieces_[i], v, room).size();
    }
    return sum;
}

std::string text_template::text(template_values v) const {
    std::string out;
    walk(v, 0, SIZE_MAX, [&](std::string_view part, std::size_t) { out += part; });
    return out;
}

bool text_template::equals_with_values(std::string_view received, template_values v) const {
    value_text room;
    for (const piece& p : pieces_) {
        const std::string_view part =
            p.what == kind::literal ? std::string_view(p.literal) : value(p, v, room);
        if (!received.starts_with(part)) return false;
        received.remove_prefix(part.size());
    }
    return received.empty();
}

bool text_template::tells_counter() const {
    const std::size_t first = !pieces_.empty() && pieces_[0].what == kind::literal ? 1 : 0;
    if (first >= pieces_.size() || pieces_[first].what != kind::counter) return false;
    // What follows must not look like a part of it.
    return first + 1 == pieces_.size() ||
           (pieces_[first + 1].what == kind::literal && !is_digit(pieces_[first + 1].literal[0]));
}

std::uint64_t text_template::counter_in(std::string_view received) const {
    if (!tells_counter()) return 0;
    if (pieces_[0].what == kind::literal) {
        if (!received.starts_with(pieces_[0].literal)) return 0;
        received.remove_prefix(pieces_[0].literal.size());
    }
    std::uint64_t counter = 0;
    const auto [end, failure] =
        std::from_chars(received.data(), received.data() + received.size(), counter);
    return failure == std::errc() && end != received.data() ? counter : 0;
}

}  // namespace wireload
