#include "plan/count_reply.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "plan/json_events.hpp"

namespace wireload {
namespace {

// Accepts the reply as JSON libraries write it: both members in either order, spaces behind a token
// at most, no escapes, no exponents. What it does not accept need not be wrong.
class usual_spelling {
public:
    explicit usual_spelling(std::string_view text) : rest_(text) {}

    std::optional<std::uint64_t> count() {
        if (!take("{") || !member() || !take(",") || !member() || !take("}") || !rest_.empty() ||
            !stamped_)
            return std::nullopt;
        return count_;
    }

private:
    bool take(std::string_view token) {
        if (!rest_.starts_with(token)) return false;
        rest_.remove_prefix(token.size());
        skip_spaces();
        return true;
    }
    void skip_spaces() {
        while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    }
    // The digits at the front, without a zero before others; empty when there are none.
    std::string_view take_whole() {
        const std::string_view digits = rest_.substr(0, rest_.find_first_not_of("0123456789"));
        if (digits.size() > 1 && digits.front() == '0') return {};
        rest_.remove_prefix(digits.size());
        return digits;
    }
    bool member() {
        if (!count_ && take("\"c\"")) return take(":") && value_of_count();
        if (!stamped_ && take("\"ts\"")) return take(":") && value_of_stamp();
        return false;
    }
    bool value_of_count() {
        const std::string_view digits = take_whole();
        std::uint64_t value = 0;
        const auto [end, failure] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (digits.empty() || failure != std::errc()) return false;
        count_ = value;
        skip_spaces();
        return true;
    }
    bool value_of_stamp() {
        if (take_whole().empty()) return false;
        if (rest_.starts_with('.')) {
            rest_.remove_prefix(1);
            const std::size_t digits =
                std::min(rest_.find_first_not_of("0123456789"), rest_.size());
            if (digits == 0) return false;
            rest_.remove_prefix(digits);
        }
        stamped_ = true;
        skip_spaces();
        return true;
    }

    std::string_view rest_;
    std::optional<std::uint64_t> count_;
    bool stamped_ = false;
};

// Any JSON object.
class any_spelling final : public json_events {
public:
    std::optional<std::uint64_t> count(std::string_view text) {
        return read(text) && stamped_ ? count_ : std::nullopt;
    }

private:
    bool in_reply() const { return depth() == 1; }

    bool on_start(bool object) override {
        return depth() == 0 ? object : !(in_reply() && (key_ == "c" || key_ == "ts"));
    }
    bool on_end() override { return true; }
    bool on_key(std::string& name) override {
        if (in_reply()) key_ = std::move(name);
        return true;
    }
    bool on_value(json&& value) override {
        if (depth() == 0) return false;
        if (!in_reply()) return true;
        if (key_ == "c") {
            if (count_ || !value.is_number_unsigned()) return false;
            count_ = value.get<std::uint64_t>();
        } else if (key_ == "ts") {
            if (stamped_ || !value.is_number()) return false;
            stamped_ = true;
        }
        return true;
    }

    std::string key_;
    std::optional<std::uint64_t> count_;
    bool stamped_ = false;
};

}  // namespace

std::optional<std::uint64_t> parse_count_reply(std::string_view text) {
    if (const auto count = usual_spelling(text).count()) return count;
    return any_spelling().count(text);
}

}  // namespace wireload
