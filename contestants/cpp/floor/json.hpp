// The least of JSON (RFC 8259) that the contract asks for: is this text JSON, and what number is
// its member "c"?
#pragma once

#include "utf8.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace wirebench::json {

class reader {
public:
    explicit reader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

    // Is the whole text one JSON value?
    bool document() {
        space();
        if (!value()) return false;
        space();
        return at_ == end_;
    }

    // The last member "c" of the outermost object, as its text; empty when there is none or it is
    // not a number.
    std::string_view count() const { return count_; }

private:
    // RFC 8259 section 9 allows a limit; this one bounds the stack.
    static constexpr int max_depth = 64;

    bool take(char c) {
        if (at_ == end_ || *at_ != c) return false;
        ++at_;
        return true;
    }
    bool take(std::string_view word) {
        if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word))
            return false;
        at_ += word.size();
        return true;
    }
    void space() {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
    }

    bool value() {
        if (at_ == end_) return false;
        switch (*at_) {
        case '{': return object();
        case '[': return array();
        case '"': return string();
        case 't': return take("true");
        case 'f': return take("false");
        case 'n': return take("null");
        default: return number();
        }
    }

    bool object() {
        if (++depth_ > max_depth) return false;
        take('{');
        space();
        if (!take('}')) {
            do {
                space();
                const char* name = at_;
                if (!string()) return false;
                const std::string_view spelled(name, static_cast<std::size_t>(at_ - name));
                // There is no third way.
                const bool is_count =
                    depth_ == 1 && (spelled == R"("c")" || spelled == R"("\u0063")");
                space();
                if (!take(':')) return false;
                space();
                const char* begin = at_;
                if (!value()) return false;
                if (is_count) {
                    const bool is_number = *begin == '-' || (*begin >= '0' && *begin <= '9');
                    count_ = is_number
                                 ? std::string_view(begin, static_cast<std::size_t>(at_ - begin))
                                 : std::string_view();
                }
                space();
            } while (take(','));
            if (!take('}')) return false;
        }
        --depth_;
        return true;
    }

    bool array() {
        if (++depth_ > max_depth) return false;
        take('[');
        space();
        if (!take(']')) {
            do {
                space();
                if (!value()) return false;
                space();
            } while (take(','));
            if (!take(']')) return false;
        }
        --depth_;
        return true;
    }

    bool string() {
        if (!take('"')) return false;
        const char* begin = at_;
        for (; at_ != end_; ++at_) {
            const auto c = static_cast<unsigned char>(*at_);
            if (c == '"') {
                const bool valid = utf8::valid({begin, static_cast<std::size_t>(at_ - begin)});
                ++at_;
                return valid;
            }
            if (c < 0x20) return false;
            if (c == '\\' && !escape()) return false;
        }
        return false;
    }

    // Leaves at_ on the last character of the escape.
    bool escape() {
        if (++at_ == end_) return false;
        if (*at_ != 'u') return std::string_view("\"\\/bfnrt").find(*at_) != std::string_view::npos;
        for (int digit = 0; digit < 4; ++digit) {
            if (++at_ == end_) return false;
            const char c = *at_;
            if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
                return false;
        }
        return true;
    }

    bool digits() {
        const char* begin = at_;
        while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
        return at_ != begin;
    }
    bool number() {
        take('-');
        if (!take('0') && !digits()) return false;
        if (take('.') && !digits()) return false;
        if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
            ++at_;
            if (!take('+')) take('-');
            if (!digits()) return false;
        }
        return true;
    }

    const char* at_;
    const char* end_;
    int depth_ = 0;
    std::string_view count_;
};

inline bool is_json(std::string_view text) { return reader(text).document(); }

// {"c":n} -> {"c":n,"ts":<seconds>}, the number decoded to a binary one and encoded again. False:
// not such a message.
inline bool answer_count(std::string_view text, std::int64_t unix_seconds, std::string& out) {
    reader message(text);
    if (!message.document() || message.count().empty()) return false;
    const auto number = message.count();
    char digits[32];
    const auto put = [&](auto value) {
        const auto done = std::to_chars(digits, digits + sizeof digits, value);
        out.append(digits, static_cast<std::size_t>(done.ptr - digits));
    };
    out.append("{\"c\":");
    std::int64_t integer = 0;
    const auto whole = std::from_chars(number.data(), number.data() + number.size(), integer);
    if (whole.ec == std::errc{} && whole.ptr == number.data() + number.size()) {
        put(integer);
    } else {
        double real = 0;
        if (std::from_chars(number.data(), number.data() + number.size(), real).ec != std::errc{})
            return false;
        put(real);
    }
    out.append(",\"ts\":");
    put(unix_seconds);
    out.push_back('}');
    return true;
}

}  // namespace wirebench::json
