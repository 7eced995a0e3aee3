#include "plan/request_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wire/proto/http_types.hpp"

namespace wireload {
namespace {

using ordered_json = nlohmann::ordered_json;

constexpr std::size_t most_requests = 10'000;

// Thrown and caught inside this file only: the whole message.
struct file_error {
    std::string text;
};

std::string shown(const ordered_json& value) {
    const std::string text = value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

// Refuses a key that stands twice in its object. Only one of the two would be read. A pass of its
// own: with a callback, parse() looks through the list once more for each of its entries.
class key_watch : public nlohmann::json_sax<ordered_json> {
public:
    explicit key_watch(const std::string& file) : file_(file) {}

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool start_object(std::size_t) override {
        seen_.emplace_back();
        return true;
    }
    bool end_object() override {
        seen_.pop_back();
        return true;
    }
    bool key(string_t& name) override {
        if (seen_.back().insert(name).second) return true;
        throw file_error{fmt::format(
            "{}: the key {} stands twice in one object; give it once (a header field that is sent "
            "twice has a list of texts)",
            file_, shown(name))};
    }
    // parse() says what is wrong.
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
        return false;
    }

private:
    const std::string& file_;
    std::vector<std::set<std::string>> seen_;  // the keys of each open object
};

// One entry, and where it stands.
class entry_reader {
public:
    entry_reader(const ordered_json& entry, const std::string& file, std::size_t index)
        : entry_(entry), file_(file), where_(fmt::format("{}: [{}]", file, index)) {}

    request_options read(const request_options& defaults) {
        if (!entry_.is_object()) wrong("", "an object such as {\"path\": \"/\"}", entry_);
        know_keys(entry_, "",
                  {"url", "path", "method", "headers", "body", "body_file", "weight", "expect"});
        request_options out = defaults;
        out.where = where_;
        out.url = text(entry_, "", "url").value_or("");
        out.path = text(entry_, "", "path").value_or("");
        if (out.url.empty() == out.path.empty()) refuse("", "give either \"url\" or \"path\"");
        if (!out.path.empty() && out.path[0] != '/')
            wrong(".path", "a path that begins with /", entry_["path"]);
        if (entry_.contains("headers")) read_headers(out);
        const bool has_body = entry_.contains("body") || entry_.contains("body_file");
        if (has_body) {
            out.body = content("body");
            // As on the command line: a body is posted where no other method is given.
            if (out.method == "GET") out.method = "POST";
        }
        if (const auto method = text(entry_, "", "method")) out.method = *method;
        if (const std::string problem = method_problem(out.method); !problem.empty())
            refuse(".method", problem);
        if (entry_.contains("weight")) {
            const ordered_json& weight = entry_["weight"];
            if (!weight.is_number_unsigned() || weight < 1 || weight > 1000)
                wrong(".weight", "a whole number from 1 to 1000", weight);
            out.weight = weight.get<std::uint32_t>();
        }
        if (entry_.contains("expect")) read_expectations(out.expect);
        return out;
    }

private:
    [[noreturn]] void refuse(std::string_view key, std::string_view what) const {
        throw file_error{fmt::format("{}{}: {}", where_, key, what)};
    }
    [[noreturn]] void wrong(std::string_view key, std::string_view expected,
                            const ordered_json& got) const {
        refuse(key, fmt::format("expected {}, got {}", expected, shown(got)));
    }
    void know_keys(const ordered_json& object, std::string_view under,
                   std::initializer_list<std::string_view> known) const {
        for (const auto& [key, value] : object.items()) {
            if (std::find(known.begin(), known.end(), key) != known.end()) continue;
            std::string all;
            for (const std::string_view name : known)
                all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
            refuse(fmt::format("{}.{}", under, key), fmt::format("no such key; there are {}", all));
        }
    }
    std::optional<std::string> text(const ordered_json& object, std::string_view under,
                                    const char* key) const {
        if (!object.contains(key)) return std::nullopt;
        if (!object[key].is_string())
            wrong(fmt::format("{}.{}", under, key), "a text", object[key]);
        return object[key].get<std::string>();
    }
    std::string from_file(std::string_view key, const std::string& name) const {
        auto bytes = file_bytes((std::filesystem::path(file_).parent_path() / name).string());
        if (auto* problem = std::get_if<std::string>(&bytes)) refuse(key, *problem);
        const auto& content = std::get<std::vector<char>>(bytes);
        return {content.begin(), content.end()};
    }
    void refuse_both(const ordered_json& object, std::string_view under,
                     const std::string& key) const {
        if (object.contains(key) && object.contains(key + "_file"))
            refuse(under, fmt::format("\"{0}\" and \"{0}_file\" say the same thing twice; give one "
                                      "of them",
                                      key));
    }
    std::string content(const char* key) const {
        const std::string file_key = fmt::format("{}_file", key);
        refuse_both(entry_, "", key);
        if (const auto name = text(entry_, "", file_key.c_str()))
            return from_file("." + file_key, *name);
        const ordered_json& body = entry_[key];
        return body.is_string() ? body.get<std::string>() : body.dump();
    }
    void read_headers(request_options& out) const {
        const ordered_json& headers = entry_["headers"];
        if (!headers.is_object())
            wrong(".headers", "an object such as {\"Accept\": \"text/plain\"}", headers);
        decltype(out.headers) own;
        for (const auto& [name, value] : headers.items()) {
            for (std::string& text : texts(value, ".headers." + name)) {
                if (const std::string problem = header_problem(name, text); !problem.empty())
                    refuse(".headers." + name, problem);
                own.emplace_back(name, std::move(text));
            }
        }
        const auto is_own = [&](const auto& h) {
            for (const auto& [name, value] : headers.items())
                if (wire::http::equals_ignoring_case(name, h.first)) return true;
            return false;
        };
        std::erase_if(out.headers, is_own);
        out.headers.insert(out.headers.end(), own.begin(), own.end());
        if (std::count_if(out.headers.begin(), out.headers.end(), [](const auto& h) {
                return wire::http::equals_ignoring_case(h.first, "Host");
            }) > 1)
            refuse(".headers", "a request has one Host (RFC 9112 section 3.2); give it once");
    }
    // One text, or a list of them.
    std::vector<std::string> texts(const ordered_json& value, const std::string& key) const {
        std::vector<std::string> out;
        for (const ordered_json& item : value.is_array() ? value : ordered_json::array({value})) {
            if (!item.is_string()) wrong(key, "a text or a list of texts", value);
            out.push_back(item.get<std::string>());
        }
        return out;
    }
    void read_expectations(expectations& out) const {
        const ordered_json& expect = entry_["expect"];
        if (!expect.is_object()) wrong(".expect", "an object such as {\"status\": 200}", expect);
        know_keys(expect, ".expect",
                  {"status", "header", "body", "body_file", "length", "sha256", "match", "json"});
        if (expect.contains("status")) {
            const ordered_json& status = expect["status"];
            const auto set = status_set::parse(status.is_number_unsigned() ? status.dump()
                                               : status.is_string() ? status.get<std::string>()
                                                                    : "");
            if (!set)
                wrong(".expect.status", "a status such as 200 or \"200,204\" or \"2xx\"", status);
            out.status = *set;
        }
        refuse_both(expect, ".expect", "body");
        if (const auto body = text(expect, ".expect", "body")) out.body = *body;
        if (const auto name = text(expect, ".expect", "body_file"))
            out.body = from_file(".expect.body_file", *name);
        if (expect.contains("length")) {
            if (!expect["length"].is_number_unsigned())
                wrong(".expect.length", "a number of bytes", expect["length"]);
            out.length = expect["length"].get<std::uint64_t>();
        }
        if (const auto sum = text(expect, ".expect", "sha256")) {
            if (sum->empty()) wrong(".expect.sha256", "64 hexadecimal digits", expect["sha256"]);
            out.sha256 = *sum;
        }
        if (expect.contains("header")) out.headers = texts(expect["header"], ".expect.header");
        if (expect.contains("match")) out.match = texts(expect["match"], ".expect.match");
        if (expect.contains("json")) {
            const ordered_json& fields = expect["json"];
            out.json.clear();
            if (!fields.is_object()) {
                for (const std::string& one : texts(fields, ".expect.json"))
                    out.json.push_back(json_expectation::parse(one));
            } else {
                for (const auto& [path, value] : fields.items())
                    out.json.push_back({path, value.dump()});
            }
        }
    }

    const ordered_json& entry_;
    const std::string& file_;
    std::string where_;
};

}  // namespace

std::variant<std::vector<char>, std::string> file_bytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::error_code unknown;
    if (!in || std::filesystem::is_directory(path, unknown))
        return fmt::format("{}: cannot read this file; check its name and permissions", path);
    std::vector<char> out{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (in.bad()) return fmt::format("{}: this file could not be read to its end", path);
    return out;
}

std::variant<std::vector<request_options>, std::string> read_request_file(
    const std::string& path, const request_options& defaults) {
    auto bytes = file_bytes(path);
    if (auto* problem = std::get_if<std::string>(&bytes)) return std::move(*problem);
    const auto& text = std::get<std::vector<char>>(bytes);
    try {
        key_watch keys(path);
        nlohmann::json_sax<ordered_json>* const watch = &keys;
        (void)ordered_json::sax_parse(text.begin(), text.end(), watch,
                                      ordered_json::input_format_t::json, true,
                                      /*ignore_comments=*/true);
        const ordered_json all =
            ordered_json::parse(text.begin(), text.end(), nullptr, true, /*ignore_comments=*/true);
        if (!all.is_array() || all.empty())
            return fmt::format(
                "{}: expected a list of requests, such as [{{\"path\": \"/\"}}], got {}", path,
                shown(all));
        if (all.size() > most_requests)
            return fmt::format("{}: {} requests; the most is {}", path, all.size(), most_requests);
        std::vector<request_options> out;
        for (std::size_t i = 0; i < all.size(); ++i)
            out.push_back(entry_reader(all[i], path, i).read(defaults));
        return out;
    } catch (const file_error& wrong) {
        return wrong.text;
    } catch (const ordered_json::parse_error& wrong) {
        // "[json.exception.parse_error.101] parse error at line 3, column 5: ..."
        const std::string_view what = wrong.what();
        return fmt::format("{}: not JSON: {}", path,
                           what.substr(std::min(what.find("] ") + 2, what.size())));
    } catch (const ordered_json::exception& wrong) {  // a number that no double holds
        const std::string_view what = wrong.what();
        return fmt::format("{}: {}", path, what.substr(std::min(what.find("] ") + 2, what.size())));
    }
}

}  // namespace wireload
