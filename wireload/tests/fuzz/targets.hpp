// One function for each thing that reads what a server chose to send or a user wrote, besides
// wire's parsers, which have targets of their own: where there is another implementation it must
// agree, and what is said must not depend on how the bytes are cut. Called by libFuzzer (preset
// fuzz) and, with the corpus and its mutations, by the ordinary tests.
#pragma once

#include <string_view>

namespace wireload::fuzz {

void count(std::string_view input);       // the reply of the counting exchange
void json(std::string_view input);        // a place in a JSON text
void reply(std::string_view input);       // the checks of an HTTP reply and of a message
void connection(std::string_view input);  // all that a server sends, over sockets

void templates(std::string_view input);
void requests(std::string_view input);  // the file of requests
void schedule(std::string_view input);  // rates, and the file of arrivals
void command_line(std::string_view input);

struct target {
    std::string_view name;  // also the folder of its corpus
    void (*run)(std::string_view);
    int damaged = 300;  // variants of each input of its corpus in the ordinary tests
};
inline constexpr target targets[] = {{"count", count},         {"json", json},
                                     {"reply", reply},         {"connection", connection, 5},
                                     {"templates", templates}, {"requests", requests},
                                     {"schedule", schedule},   {"command_line", command_line, 50}};

}  // namespace wireload::fuzz
