// The parameters of a query, or of an application/x-www-form-urlencoded body:
// "a=1&b=two+words&c=%41".
//
//     auto query = wire::http::parameters::parse(request.query);
//     if (query) use(query->get("page", "1"));
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"

namespace wire::http {

// Names and values, decoded, in the order in which they came; a name may come several times. Owns
// its text: views that it gives are valid as long as it lives.
class WIRE_EXPORT parameters {
public:
    // Reads them as browsers write them (WHATWG URL, section 5): '&' between, '+' for a space,
    // empty pieces left out, "a" as "a=". errc::bad_parameter for '%' without two hexadecimal
    // digits, too_many_parameters beyond limits::max_parameters.
    static result<parameters> parse(std::string_view text, const limits& l = {});

    // The first value of that name; none when there is no such parameter. Names are case-sensitive.
    std::optional<std::string_view> find(std::string_view name) const noexcept;
    // The same, or `otherwise`.
    std::string_view get(std::string_view name, std::string_view otherwise = {}) const noexcept;
    // All values of that name, in order.
    std::vector<std::string_view> all(std::string_view name) const;

    // Pairs of name and value.
    auto begin() const noexcept { return list_.begin(); }
    auto end() const noexcept { return list_.end(); }
    std::size_t size() const noexcept { return list_.size(); }
    bool empty() const noexcept { return list_.empty(); }

private:
    std::vector<std::pair<std::string, std::string>> list_;
};

}  // namespace wire::http
