// One function for each parser: what it says of some bytes must not depend on how they are cut, it must never ask for more
// than it is given or use up more than there is, and what it accepts must satisfy what its header promises. Called by
// libFuzzer (preset fuzz) and, with the corpus and its mutations, by the ordinary tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wire::fuzz {

void request(std::string_view input);
void response(std::string_view input);
void frames(std::string_view input);
void text(std::string_view input);  // URL, percent-encoding, Base64, UTF-8
void inflate(std::string_view input);
void forms(std::string_view input);  // multipart/form-data, queries, cookies

struct target {
    std::string_view name;  // also the folder of its corpus
    void (*run)(std::string_view);
};
inline constexpr target targets[] = {{"request", request}, {"response", response}, {"frames", frames}, {"text", text}, {"inflate", inflate},
                                     {"forms", forms}};

}  // namespace wire::fuzz
