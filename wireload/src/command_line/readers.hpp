// The readers of the command line, one for each group of options. Each fills its part of `out` and
// refuses (usage.hpp) what is wrong or does not go together.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "command_line/raw_options.hpp"
#include "plan/options.hpp"

namespace wireload {

// The options as text, and the names of those that were given: a given text may be empty.
struct given_options {
    raw_options raw;
    std::set<std::string, std::less<>> names;  // "--connections"

    bool has(std::string_view name) const { return names.contains(name); }
};

// In this order: later ones look at what earlier ones have filled in.
void read_load(const given_options& given, options& out);
void read_connection_use(const given_options& given, options& out);
void read_exchange(const given_options& given, options& out);
void read_content_checks(const given_options& given, options& out);
void read_requests_file(const given_options& given, options& out);
void read_tls(const given_options& given, options& out);
void read_place(const given_options& given, unsigned allowed_cpus, options& out);
void read_output(const given_options& given, options& out);

// A part of read_load().
void read_open_loop(const given_options& given, options& out);
// When the number of threads and the seed are known.
void complete_open_loop(options& out);

// What the scheme of a URL says; neither is http.
struct url_kind {
    bool websocket = false;
    bool secure = false;
};
// Refuses what is neither WebSocket nor HTTP.
url_kind kind_of(const std::string& url);

}  // namespace wireload
