// Answers with files: content types, validators, conditions and ranges.
#include "file_answer.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <vector>

#include "connection.hpp"
#include "exchange.hpp"
#include "file_body.hpp"
#include "proto/char_tables.hpp"
#include "wire/proto/conditional.hpp"
#include "wire/proto/http_writer.hpp"

namespace wire::http::detail {

namespace {

struct type_of_extension {
    std::string_view extension;
    std::string_view type;
};

constexpr std::array<type_of_extension, 40> known_types{{
    {"avif", "image/avif"},
    {"bin", "application/octet-stream"},
    {"bmp", "image/bmp"},
    {"css", "text/css; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"epub", "application/epub+zip"},
    {"flac", "audio/flac"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"htm", "text/html; charset=utf-8"},
    {"html", "text/html; charset=utf-8"},
    {"ico", "image/x-icon"},
    {"ics", "text/calendar; charset=utf-8"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript; charset=utf-8"},
    {"json", "application/json"},
    {"map", "application/json"},
    {"md", "text/markdown; charset=utf-8"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"ogg", "audio/ogg"},
    {"otf", "font/otf"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain; charset=utf-8"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"webm", "video/webm"},
    {"webmanifest", "application/manifest+json"},
    {"webp", "image/webp"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xhtml", "application/xhtml+xml"},
    {"xml", "application/xml"},
    {"zip", "application/zip"},
}};

std::string hex(std::uint64_t value) {
    char digits[16];
    return {digits, std::to_chars(digits, digits + sizeof digits, value, 16).ptr};
}

// Bytes that no file can be made to hold on purpose.
std::string random_boundary() {
    std::array<std::uint64_t, 2> bits{};
    // Cannot fail for so few.
    [[maybe_unused]] const auto n = ::getrandom(bits.data(), sizeof bits, 0);
    return hex(bits[0]) + hex(bits[1]);
}

std::string content_range_field(const byte_range& r, std::uint64_t size) {
    return "bytes " + std::to_string(r.first) + "-" + std::to_string(r.first + r.length - 1) + "/" +
           std::to_string(size);
}

}  // namespace

std::string extension_of(std::string_view path) {
    const std::size_t dot = path.find_last_of("./");
    if (dot == std::string_view::npos || path[dot] == '/') return {};
    std::string extension(path.substr(dot + 1));
    for (char& c : extension) c = lower(c);
    return extension;
}

std::string_view type_of_file(std::string_view path) {
    const std::string extension = extension_of(path);
    for (const auto& known : known_types) {
        if (known.extension == extension) return known.type;
    }
    return "application/octet-stream";
}

void refuse(response res, int status) {
    // They are about the file, which is not sent.
    for (const char* name :
         {"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Type", "Expires"})
        res.remove_header(name);
    response_access::of(res).say(status);
    res.send();
}

void answer_with_file(response res, unique_fd file, const struct stat& about, std::string_view type,
                      std::size_t max_ranges) {
    auto body = std::make_shared<file_body>();
    body->file = std::move(file);
    const auto size = static_cast<std::uint64_t>(about.st_size);
    const request& req = res.request();
    const bool is_read = req.method() == method::get || req.method() == method::head;
    if (!is_read || res.status() != 200) {
        body->parts.push_back({.before = {}, .offset = 0, .length = size});
        res.content_type(type);
        connection::send_file(std::move(res), std::move(body));
        return;
    }
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    // A second change within the second of the first may leave no trace: until that is over it
    // cannot be told byte for byte.
    const bool settled = about.st_mtim.tv_sec + 1 < now;
    const auto modified_ns = static_cast<std::uint64_t>(about.st_mtim.tv_sec) * 1'000'000'000U +
                             static_cast<std::uint64_t>(about.st_mtim.tv_nsec);
    const std::string etag = (settled ? "\"" : "W/\"") + hex(size) + "-" + hex(modified_ns) + "-" +
                             hex(about.st_ino) + "\"";
    // What lies in the future counts as now (RFC 9110 section 8.8.2.1).
    const std::int64_t modified = std::min<std::int64_t>(about.st_mtim.tv_sec, now);
    const validators v{.etag = etag, .modified = modified, .date_is_strong = settled};
    res.set_header("ETag", etag);
    const auto date = format_date(modified);
    res.set_header("Last-Modified", {date.data(), date.size()});
    switch (check_preconditions(req.headers(), req.method(), v)) {
    case precondition::not_modified:
        // With the file, so that middleware treats it as the 200.
        connection::send_file(std::move(res.status(304)), std::move(body));
        return;
    case precondition::failed: refuse(std::move(res), 412); return;
    case precondition::holds: break;
    }
    res.set_header("Accept-Ranges", "bytes");
    std::vector<byte_range> ranges;
    const auto kind = req.method() == method::get
                          ? check_ranges(req.headers(), v, size, max_ranges, ranges)
                          : range_kind::whole;
    if (kind == range_kind::unsatisfiable) {
        res.header("Content-Range", "bytes */" + std::to_string(size));
        refuse(std::move(res), 416);
        return;
    }
    if (kind == range_kind::whole) {
        body->parts.push_back({.before = {}, .offset = 0, .length = size});
        res.content_type(type);
    } else if (ranges.size() == 1) {
        res.status(206)
            .header("Content-Range", content_range_field(ranges[0], size))
            .content_type(type);
        body->parts.push_back(
            {.before = {}, .offset = ranges[0].first, .length = ranges[0].length});
    } else {
        const std::string boundary = random_boundary();
        res.status(206).content_type("multipart/byteranges; boundary=" + boundary);
        for (const byte_range& r : ranges) {
            std::string before = (body->parts.empty() ? "--" : "\r\n--") + boundary +
                                 "\r\nContent-Type: " + std::string(type) +
                                 "\r\nContent-Range: " + content_range_field(r, size) + "\r\n\r\n";
            body->parts.push_back(
                {.before = std::move(before), .offset = r.first, .length = r.length});
        }
        body->after = "\r\n--" + boundary + "--\r\n";
    }
    connection::send_file(std::move(res), std::move(body));
}

}  // namespace wire::http::detail
