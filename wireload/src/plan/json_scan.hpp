// A validating scanner of JSON (RFC 8259) that allocates nothing: for replies whose size and shape
// a server chooses.
#pragma once

#include <cstddef>
#include <string_view>

namespace wireload {

constexpr bool is_json_digit(char c) { return c >= '0' && c <= '9'; }

// Every member function leaves `at` after what it read, or answers false.
class json_scanner {
public:
    explicit json_scanner(std::string_view text)
        : at_(text.data()), end_(text.data() + text.size()) {}

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
            if (at_ != end_ && is_json_digit(*at_)) return false;
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

    // Nested to a depth that no honest reply exceeds; it bounds the stack (RFC 8259 section 9
    // allows a limit).
    static constexpr int deepest = 64;

    bool value(int depth = 0) {
        if (at_ == end_ || depth > deepest) return false;
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
        while (at_ != end_ && is_json_digit(*at_)) ++at_;
        return at_ != start;
    }
    bool escape() {
        if (at_ == end_) return false;
        const char c = *at_++;
        if (c != 'u') return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
        for (int i = 0; i < 4; ++i) {
            if (at_ == end_) return false;
            const char h = *at_++;
            if (!is_json_digit(h) && !(h >= 'a' && h <= 'f') && !(h >= 'A' && h <= 'F'))
                return false;
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

bool spells_with_escapes(std::string_view raw, std::string_view name);

// Whether the text between a string's quotes spells `name`, with escapes or without.
inline bool spells(std::string_view raw, std::string_view name) {
    if (raw == name) return true;
    return raw.size() > name.size() && raw.find('\\') != std::string_view::npos &&
           spells_with_escapes(raw, name);
}

}  // namespace wireload
