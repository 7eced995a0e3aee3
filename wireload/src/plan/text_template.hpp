// Text in which some values differ from request to request:
//
//     {counter}       1, 2, 3, ... on each connection
//     {random}        a whole number from 0 to 2147483647
//     {random:1-6}    a whole number from 1 to 6
//     {uuid}          a random UUID (RFC 9562, version 4)
//
// Every other brace stands for itself, so that JSON needs no escaping; "{{counter}" is the text
// "{counter}".
//
// A value depends only on the connection's seed, the request's counter and its place in the text.
// So the text of a request in flight need not be kept: it can be made again, for a comparison or a
// report, and a run can be repeated by its seed.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/random.hpp"

namespace wireload {

// The seed and counter that the values of one request are made from.
struct template_values {
    std::uint64_t seed = 0;  // of the connection
    std::uint64_t counter = 0;
};

class text_template {
public:
    text_template() = default;
    // The string says what is wrong. With `short_counter`, "{c}" is the counter as well.
    static std::variant<text_template, std::string> parse(std::string_view text,
                                                          bool short_counter = false);

    // ---- to put one together ----

    void append_literal(std::string_view text);
    void append(const text_template& other);
    // The length in bytes of all that is appended from now on (Content-Length, and the head's end).
    void append_length_of_rest();
    // Makes the random values of this text those of `request`: the first is its first, and so on,
    // range included. The string says what is wrong: there are more of them here, or others.
    std::optional<std::string> take_values_of(const text_template& request);

    // ---- to use it ----

    // The same for every request.
    bool is_constant() const { return values_ == 0; }
    // Precondition: is_constant().
    std::string_view constant() const {
        return pieces_.empty() ? std::string_view() : std::string_view(pieces_[0].literal);
    }
    bool has_counter() const;
    // Whether counter_in() can tell it.
    bool tells_counter() const;
    std::size_t size(template_values v) const {
        return values_ == 0 ? literal_bytes_ : size_from(0, v);
    }
    std::string text(template_values v) const;
    bool equals(std::string_view received, template_values v) const {
        if (values_ == 0) return received == constant();
        return equals_with_values(received, v);
    }
    // The counter that `received` would have if it were this text; 0 when that cannot be told from
    // the text alone.
    std::uint64_t counter_in(std::string_view received) const;

    // Hands `take(piece, offset of the piece)` the text from byte `offset` on, at most `most` bytes
    // of it. Returns the offset reached.
    template <typename Take>
    std::size_t walk(template_values v, std::size_t offset, std::size_t most, Take take) const {
        std::size_t start = 0;  // of the piece, in the text
        value_text room;
        for (const piece& p : pieces_) {
            if (most == 0) break;
            const std::string_view whole =
                p.what == kind::literal ? std::string_view(p.literal) : value(p, v, room);
            if (offset < start + whole.size()) {
                const std::string_view part = whole.substr(offset - start, most);
                take(part, offset);
                offset += part.size();
                most -= part.size();
            }
            start += whole.size();
        }
        return offset;
    }

private:
    enum class kind : std::uint8_t { literal, counter, random, uuid, length_of_rest };
    struct piece {
        kind what = kind::literal;
        std::string literal{};
        std::uint64_t low = 0;
        std::uint64_t span = 0;  // how many numbers there are, less one
        std::size_t place = 0;   // in the text that the value is drawn for
    };
    struct value_text {
        char bytes[36];  // a UUID's
    };

    static std::string_view number(std::uint64_t n, value_text& room) {
        return {room.bytes,
                static_cast<std::size_t>(
                    std::to_chars(room.bytes, room.bytes + sizeof room.bytes, n).ptr - room.bytes)};
    }
    // Text of a piece that is not a literal.
    std::string_view value(const piece& p, template_values v, value_text& room) const {
        return p.what == kind::counter ? number(v.counter, room) : drawn(p, v, room);
    }
    std::string_view drawn(const piece& p, template_values v, value_text& room) const;
    bool equals_with_values(std::string_view received, template_values v) const;
    std::size_t size_from(std::size_t index, template_values v) const;
    void append_value(piece p);

    std::vector<piece> pieces_;
    std::size_t literal_bytes_ = 0;
    std::uint32_t values_ = 0;  // pieces that are none
};

}  // namespace wireload
