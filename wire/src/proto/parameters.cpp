// Splits a query or form at "&" and "=" and decodes the parts.
#include "wire/proto/parameters.hpp"

#include <algorithm>

#include "percent_coding.hpp"

namespace wire::http {

using wire::detail::append_percent_decoded;

result<parameters> parameters::parse(std::string_view text, const limits& l) {
    parameters out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('&'), text.size());
        const std::string_view piece = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (piece.empty()) continue;
        if (out.list_.size() == l.max_parameters) return errc::too_many_parameters;
        auto& [name, value] = out.list_.emplace_back();
        const std::size_t equals = std::min(piece.find('='), piece.size());
        if (!append_percent_decoded(name, piece.substr(0, equals), ' ') ||
            !append_percent_decoded(value, piece.substr(std::min(equals + 1, piece.size())), ' ')) {
            return errc::bad_parameter;
        }
    }
    return out;
}

std::optional<std::string_view> parameters::find(std::string_view name) const noexcept {
    for (const auto& [key, value] : list_) {
        if (key == name) return value;
    }
    return std::nullopt;
}

std::string_view parameters::get(std::string_view name, std::string_view otherwise) const noexcept {
    return find(name).value_or(otherwise);
}

std::vector<std::string_view> parameters::all(std::string_view name) const {
    std::vector<std::string_view> out;
    for (const auto& [key, value] : list_) {
        if (key == name) out.push_back(value);
    }
    return out;
}

}  // namespace wire::http
