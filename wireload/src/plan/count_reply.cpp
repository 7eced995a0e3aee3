#include "plan/count_reply.hpp"

#include <charconv>

#include "plan/json_scan.hpp"

namespace wireload {

std::optional<std::uint64_t> parse_count_reply(std::string_view text) noexcept {
    json_scanner in(text);
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
        if (spells(name, "c")) {
            if (count || !in.number()) return std::nullopt;
            std::uint64_t value = 0;
            const auto [end, failure] = std::from_chars(start, in.position(), value);
            if (failure != std::errc() || end != in.position()) return std::nullopt;
            count = value;
        } else if (spells(name, "ts")) {
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
