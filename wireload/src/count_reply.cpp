#include "count_reply.hpp"

#include <charconv>
#include <cstddef>

namespace wireload {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A validating scanner of RFC 8259. Every member function leaves `at` after what it read, or answers false.
class scanner {
public:
    explicit scanner(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

    void space() {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
    }
    bool take(char c) {
        if (at_ == end_ || *at_ != c) return false;
        ++at_;
        return true;
    }
    bool done() const { return at_ == end_; }
    const char* position() const { return at_; }

    bool string(std::string_view& raw) {
        if (!take('"')) return false;
        const char* const start = at_;
        while (at_ != end_) {
            const char c = *at_++;
            if (c == '"') {
                raw = {start, static_cast<std::size_t>(at_ - start - 1)};
                return true;
            }
            if (static_cast<unsigned char>(c) < 0x20) return false;
            if (c == '\\' && !escape()) return false;
        }
        return false;
    }

    bool number() {
        (void)take('-');
        if (take('0')) {
            if (at_ != end_ && is_digit(*at_)) return false;
        } else if (!digits()) {
            return false;
        }
        if (take('.') && !digits()) return false;
        if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
            ++at_;
            if (!take('+')) (void)take('-');
            if (!digits()) return false;
        }
        return true;
    }

    // Any value, nested to a depth that no honest reply exceeds.
    bool value(int depth = 0) {
        if (at_ == end_ || depth > 32) return false;
        std::string_view ignored;
        switch (*at_) {
            case '"': return string(ignored);
            case '{': return members('}', depth);
            case '[': return members(']', depth);
            case 't': return word("true");
            case 'f': return word("false");
            case 'n': return word("null");
            default: return number();
        }
    }

private:
    bool word(std::string_view expected) {
        for (const char c : expected) {
            if (!take(c)) return false;
        }
        return true;
    }
    bool digits() {
        const char* const start = at_;
        while (at_ != end_ && is_digit(*at_)) ++at_;
        return at_ != start;
    }
    bool escape() {
        if (at_ == end_) return false;
        const char c = *at_++;
        if (c != 'u') return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
        for (int i = 0; i < 4; ++i) {
            if (at_ == end_) return false;
            const char h = *at_++;
            if (!is_digit(h) && !(h >= 'a' && h <= 'f') && !(h >= 'A' && h <= 'F')) return false;
        }
        return true;
    }
    bool members(char close, int depth) {
        ++at_;
        space();
        if (take(close)) return true;
        while (true) {
            space();
            if (close == '}') {
                std::string_view name;
                if (!string(name)) return false;
                space();
                if (!take(':')) return false;
                space();
            }
            if (!value(depth + 1)) return false;
            space();
            if (take(close)) return true;
            if (!take(',')) return false;
        }
    }

    const char* at_;
    const char* end_;
};

}  // namespace

std::optional<std::uint64_t> parse_count_reply(std::string_view text) noexcept {
    scanner in(text);
    std::optional<std::uint64_t> count;
    bool stamped = false;
    in.space();
    if (!in.take('{')) return std::nullopt;
    while (true) {
        std::string_view name;
        in.space();
        if (!in.string(name)) return std::nullopt;
        in.space();
        if (!in.take(':')) return std::nullopt;
        in.space();
        const char* const start = in.position();
        if (name == "c") {
            if (count || !in.number()) return std::nullopt;
            std::uint64_t value = 0;
            const auto [end, failure] = std::from_chars(start, in.position(), value);
            if (failure != std::errc() || end != in.position()) return std::nullopt;
            count = value;
        } else if (name == "ts") {
            if (stamped || !in.number()) return std::nullopt;
            stamped = true;
        } else if (!in.value()) {
            return std::nullopt;
        }
        in.space();
        if (in.take('}')) break;
        if (!in.take(',')) return std::nullopt;
    }
    in.space();
    return in.done() && stamped ? count : std::nullopt;
}

}  // namespace wireload
