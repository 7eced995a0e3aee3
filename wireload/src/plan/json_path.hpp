// One place in a JSON text: "a.b[0].c", or as a JSON pointer "/a/b/0/c" (RFC 6901).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wireload {

class json_path {
public:
    // Absent when `text` is not a path.
    static std::optional<json_path> parse(std::string_view text);

    struct answer {
        bool valid = false;  // the text is one JSON value
        std::string_view
            value;  // what stands at the place, as it is written; empty when there is nothing
    };
    // Of members of the same name the last counts, as in most libraries. Allocates only for names
    // with escapes.
    answer find(std::string_view text) const;

    // A member name, or an index, or (in a pointer) either.
    struct step {
        std::optional<std::string> name;
        std::optional<std::uint64_t> index;
    };

private:
    std::vector<step> steps_;
};

// Whether two JSON values are equal: numbers by value, members in any order.
bool same_json(std::string_view a, std::string_view b);

}  // namespace wireload
