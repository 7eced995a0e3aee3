// One place in a JSON text: "a.b[0].c", or as a JSON pointer "/a/b/0/c" (RFC 6901).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace wireload {

class json_path {
public:
    // Absent when `text` is not a path.
    static std::optional<json_path> parse(std::string_view text);

    struct answer {
        bool valid = false;                           // the text is one JSON value
        std::shared_ptr<const nlohmann::json> value;  // null when nothing stands at the place
    };
    // Of members of the same name the last counts, as in most libraries.
    answer find(std::string_view text) const;

    // A member name, or an index, or (in a pointer) either.
    struct step {
        std::optional<std::string> name;
        std::optional<std::uint64_t> index;
    };

private:
    std::vector<step> steps_;
};

}  // namespace wireload
