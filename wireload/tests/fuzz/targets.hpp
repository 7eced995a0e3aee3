// One function for each thing that reads what a server chose to send, besides wire's parsers, which have targets of their own:
// another implementation must agree, and what is said must not depend on how the bytes are cut. Called by libFuzzer (preset
// fuzz) and, with the corpus and its mutations, by the ordinary tests.
#pragma once

#include <string_view>

namespace wireload::fuzz {

void count(std::string_view input);  // the reply of the counting exchange
void json(std::string_view input);   // a place in a JSON text
void reply(std::string_view input);  // the checks of an HTTP reply and of a message

struct target {
    std::string_view name;  // also the folder of its corpus
    void (*run)(std::string_view);
};
inline constexpr target targets[] = {{"count", count}, {"json", json}, {"reply", reply}};

}  // namespace wireload::fuzz
