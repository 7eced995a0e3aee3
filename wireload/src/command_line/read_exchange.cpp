// Reads what is sent and what reply is right: the options of requests, messages and their checks.
#include <algorithm>
#include <sstream>
#include <utility>
#include <variant>

#include "command_line/readers.hpp"
#include "command_line/usage.hpp"
#include "plan/reply_checks.hpp"
#include "plan/request_file.hpp"
#include "plan/text_template.hpp"
#include "wire/base/limits.hpp"
#include "wire/proto/compression.hpp"
#include "wire/proto/http_types.hpp"
#include "wire/proto/utf8.hpp"

namespace wireload {
namespace {

std::string text_or_file(const given_options& given, std::string_view flag, const std::string& text,
                         const std::string& file) {
    const std::string file_flag = fmt::format("{}-file", flag);
    if (given.has(flag) && given.has(file_flag)) {
        refuse("{} and {} say the same thing twice; give one of them", flag, file_flag);
    }
    return given.has(file_flag) ? file_content(file_flag, file) : text;
}

std::pair<std::string, std::string> header(const std::string& text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) refuse("--header '{}': write it as 'Name: value'", text);
    std::string name = text.substr(0, colon);
    std::string value =
        text.substr(std::min(text.find_first_not_of(" \t", colon + 1), text.size()));
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.pop_back();
    if (const std::string problem = header_problem(name, value); !problem.empty())
        refuse("--header '{}': {}", text, problem);
    return {std::move(name), std::move(value)};
}

// Options of the other protocol.
void refuse_other_kind(const given_options& given, bool websocket) {
    const char* http_only[] = {"--method",           "--body",          "--body-file",
                               "--requests-file",    "--expect-status", "--expect-body",
                               "--expect-body-file", "--expect-header"};
    const char* ws_only[] = {"--message", "--message-file", "--message-size", "--subprotocol",
                             "--binary",  "--deflate",      "--check"};
    if (websocket) {
        for (const char* name : http_only) {
            if (given.has(name))
                refuse("{} is for http URLs; for ws there are --message and --check", name);
        }
    } else {
        for (const char* name : ws_only) {
            if (given.has(name))
                refuse("{} is for ws URLs; for http there are --body and --expect-body", name);
        }
    }
}

void read_message(const given_options& given, options& out) {
    out.binary = given.raw.binary;
    out.deflate = given.raw.deflate;
    if (out.deflate && !wire::compression_available())
        refuse(
            "--deflate: this wireload was built without zlib in wire; build it with "
            "WIRE_WITH_ZLIB=ON");
    out.message = out.broadcast                     ? "{\"b\":{c}}"
                  : out.check == reply_check::count ? "{\"c\":{c}}"
                                                    : "hello from wireload";
    if (given.has("--message") || given.has("--message-file")) {
        out.message = text_or_file(given, "--message", given.raw.message, given.raw.message_file);
        const std::string_view flag = given.has("--message") ? "--message" : "--message-file";
        const auto parsed = text_template::parse(out.message, true);
        if (const auto* problem = std::get_if<std::string>(&parsed))
            refuse("{}: {}", flag, *problem);
        // Values are ASCII.
        if (!out.binary && !wire::is_utf8(out.message)) {
            refuse(
                "{}: a text message has to be UTF-8 (RFC 6455 section 5.6), and this one is not; "
                "send it with --binary",
                flag);
        }
        if (out.check == reply_check::count && !std::get<text_template>(parsed).has_counter()) {
            refuse("{}: --check count needs the counter in it, as in '{{\"c\":{{c}}}}'", flag);
        }
        if (out.broadcast && !std::get<text_template>(parsed).tells_counter()) {
            refuse(
                "{}: --broadcast tells one message from the next by the counter, which has "
                "to be the first value in it, as in '{{\"b\":{{c}}}}'",
                flag);
        }
    }
    if (given.has("--message-size")) {
        if (given.has("--message") || given.has("--message-file"))
            refuse("{} and --message-size say the same thing twice; give one of them",
                   given.has("--message") ? "--message" : "--message-file");
        if (out.check == reply_check::count)
            refuse(
                "--message-size: --check count needs a message with the counter in it; see "
                "--message");
        const std::uint64_t size =
            number("--message-size", given.raw.message_size, 0, max_message_bytes);
        out.message.resize(size);
        for (std::size_t i = 0; i < size; ++i) out.message[i] = static_cast<char>('a' + i % 26);
    }
}

// Fields that options of their own send.
void refuse_own_fields(const options& out) {
    for (const auto& [name, value] : out.headers) {
        if (out.websocket && wire::http::equals_ignoring_case(name, "Sec-WebSocket-Protocol")) {
            refuse(
                "--header '{}': say it with --subprotocol, so that the server's choice is checked",
                name);
        }
        if (out.deflate && wire::http::equals_ignoring_case(name, "Sec-WebSocket-Extensions")) {
            refuse("--header '{}': --deflate sends this field; leave one of them out", name);
        }
    }
}

void read_subprotocols(const given_options& given, options& out) {
    std::istringstream protocols(given.raw.subprotocol);
    for (std::string one; std::getline(protocols, one, ',');) {
        one.erase(0, one.find_first_not_of(' '));
        if (!wire::http::is_token(one))
            refuse("--subprotocol '{}': give names such as chat or chat,superchat",
                   given.raw.subprotocol);
        out.subprotocols += (out.subprotocols.empty() ? "" : ", ") + one;
    }
    if (given.has("--subprotocol") && out.subprotocols.empty())
        refuse("--subprotocol: give names such as chat or chat,superchat");
}

}  // namespace

void read_exchange(const given_options& given, options& out) {
    for (const std::string& h : given.raw.headers) out.headers.push_back(header(h));
    const auto is_host = [](const auto& h) {
        return wire::http::equals_ignoring_case(h.first, "Host");
    };
    if (std::count_if(out.headers.begin(), out.headers.end(), is_host) > 1)
        refuse("--header: a request has one Host (RFC 9112 section 3.2); give it once");
    if (given.has("--expect-status")) {
        const auto set = status_set::parse(given.raw.expect_status);
        if (!set)
            refuse("--expect-status {}: give statuses such as 200 or 200,204 or 2xx",
                   given.raw.expect_status);
        out.expect.status = *set;
    }
    refuse_other_kind(given, out.websocket);
    out.body = text_or_file(given, "--body", given.raw.body, given.raw.body_file);
    if (given.has("--body") || given.has("--body-file")) out.method = "POST";
    if (given.has("--method")) out.method = given.raw.method;
    if (const std::string problem = method_problem(out.method); !problem.empty())
        refuse("--method '{}': {}", out.method, problem);
    if (given.has("--expect-body") || given.has("--expect-body-file")) {
        out.expect.body =
            text_or_file(given, "--expect-body", given.raw.expect_body, given.raw.expect_body_file);
    }
    if (given.has("--check")) {
        one_of("--check", given.raw.check);
        out.check = given.raw.check == "echo"    ? reply_check::echo
                    : given.raw.check == "count" ? reply_check::count
                                                 : reply_check::none;
    }
    read_message(given, out);
    refuse_own_fields(out);
    read_subprotocols(given, out);
}

void read_content_checks(const given_options& given, options& out) {
    if (given.has("--expect-length"))
        out.expect.length =
            number("--expect-length", given.raw.expect_length, 0, std::uint64_t{1} << 40);
    if (given.has("--expect-sha256") && given.raw.expect_sha256.empty())
        refuse("--expect-sha256 '': give 64 hexadecimal digits, as sha256sum prints them");
    out.expect.sha256 = given.raw.expect_sha256;
    out.expect.match = given.raw.expect_match;
    for (const std::string& text : given.raw.expect_json)
        out.expect.json.push_back(json_expectation::parse(text));
    out.expect.headers = given.raw.expect_header;
    // A message that is described need not be an echo. What is broadcast always comes as it was
    // sent.
    if (out.websocket && out.expect.of_content() && !given.has("--check") && !out.broadcast)
        out.check = reply_check::none;
    if (const auto made = reply_checks::compile(out.expect);
        const auto* problem = std::get_if<std::string>(&made))
        refuse("{}", *problem);
}

void read_requests_file(const given_options& given, options& out) {
    if (!given.has("--requests-file")) return;
    const std::string& file = given.raw.requests_file;
    if (out.websocket) refuse("--requests-file is for http URLs; for ws there is --message");
    request_options defaults;
    defaults.method = out.method;
    defaults.headers = out.headers;
    defaults.body = out.body;
    defaults.expect = out.expect;
    auto requests = read_request_file(file, defaults);
    if (const auto* problem = std::get_if<std::string>(&requests))
        refuse("--requests-file {}", *problem);
    out.rotation = std::get<std::vector<request_options>>(std::move(requests));
    for (const request_options& r : out.rotation) {
        if (!r.url.empty() && kind_of(r.url).websocket)
            refuse("--requests-file {}.url: {} is not an http URL", r.where, r.url);
        if (r.url.empty() && out.urls.empty()) {
            refuse(
                "--requests-file {}: it has a path and no URL; give the server's URL on the "
                "command line, as in http://127.0.0.1:8080/",
                r.where);
        }
    }
    const auto has_url = [](const request_options& r) { return !r.url.empty(); };
    if (!out.urls.empty() && std::all_of(out.rotation.begin(), out.rotation.end(), has_url))
        refuse("{}: all requests of --requests-file have a URL of their own; leave this one out",
               out.urls.front());
}

}  // namespace wireload
