// Serves the files of a directory: finds and opens them below it, answers conditions and ranges.
#include "wire/server/files.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>

#include "connection.hpp"
#include "file_body.hpp"
#include "proto/char_tables.hpp"
#include "wire/proto/accept_encoding.hpp"
#include "wire/proto/conditional.hpp"
#include "wire/proto/http_writer.hpp"
#include "wire/proto/url.hpp"

namespace wire::http {

namespace {

struct root {
    unique_fd directory;
    file_options options;
};

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

std::string type_of(const std::string& path, const file_options& options) {
    const std::size_t dot = path.find_last_of("./");
    if (dot == std::string::npos || path[dot] == '/') return "application/octet-stream";
    std::string extension = path.substr(dot + 1);
    for (char& c : extension) c = detail::lower(c);
    if (const auto it = options.types.find(extension); it != options.types.end()) return it->second;
    for (const auto& known : known_types) {
        if (known.extension == extension) return std::string(known.type);
    }
    return "application/octet-stream";
}

struct place {
    std::string path;        // below the root, "." for itself
    bool directory = false;  // it was named with a '/' at its end
};

// `target` is a part of a canonical path, which has no dot segments: the kernel would see to those,
// too.
std::optional<place> place_of(std::string_view target, bool hidden) {
    if (target.empty()) return place{.path = ".", .directory = true};
    place p{.path = std::string(target), .directory = false};
    p.directory = p.path.back() == '/';
    if (p.directory) p.path.pop_back();
    for (std::size_t at = 0; at <= p.path.size();) {
        const std::size_t end = std::min(p.path.find('/', at), p.path.size());
        const std::string_view segment = std::string_view(p.path).substr(at, end - at);
        if (segment.empty() || (!hidden && segment.front() == '.')) return std::nullopt;
        at = end + 1;
    }
    return p;
}

std::string encode_path(std::string_view path) {
    std::string out;
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t slash = std::min(path.find('/', at), path.size());
        out += percent_encode(path.substr(at, slash - at));
        if (slash < path.size()) out += '/';
        at = slash + 1;
    }
    return out;
}

unique_fd open_below(int directory, const char* path) noexcept {
    open_how how{};
    // Not to wait for a pipe's other end, and not to be given a terminal.
    how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    for (int tries = 0;; ++tries) {
        const auto fd = static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how));
        // EAGAIN: something was renamed while the kernel looked.
        if (fd >= 0 || errno != EAGAIN || tries == 3) return unique_fd(fd);
    }
}

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

std::string content_range(const byte_range& r, std::uint64_t size) {
    return "bytes " + std::to_string(r.first) + "-" + std::to_string(r.first + r.length - 1) + "/" +
           std::to_string(size);
}

void refuse(response res, int status) {
    res.status(status).send(std::string(reason_phrase(status)) + "\n");
}

void send_regular(response res, unique_fd file, const struct stat& about, const std::string& type,
                  std::size_t max_ranges) {
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    const auto size = static_cast<std::uint64_t>(about.st_size);
    // A second change within the second of the first may leave no trace: until that is over it
    // cannot be told byte for byte.
    const bool settled = about.st_mtim.tv_sec + 1 < now;
    const auto modified_ns = static_cast<std::uint64_t>(about.st_mtim.tv_sec) * 1'000'000'000U +
                             static_cast<std::uint64_t>(about.st_mtim.tv_nsec);
    const std::string etag = (settled ? "\"" : "W/\"") + hex(size) + "-" + hex(modified_ns) + "-" +
                             hex(about.st_ino) + "\"";
    const validators v{.etag = etag, .modified = about.st_mtim.tv_sec, .date_is_strong = settled};
    const request& req = res.request();
    res.header("ETag", etag);
    const auto date = format_date(std::min<std::int64_t>(about.st_mtim.tv_sec, now));
    res.header("Last-Modified", {date.data(), date.size()});
    switch (check_preconditions(req.headers(), req.method(), v)) {
    case precondition::not_modified: res.status(304).send(); return;
    case precondition::failed: refuse(std::move(res), 412); return;
    case precondition::holds: break;
    }
    res.header("Accept-Ranges", "bytes");
    std::vector<byte_range> ranges;
    const auto kind = req.method() == method::get
                          ? check_ranges(req.headers(), v, size, max_ranges, ranges)
                          : range_kind::whole;
    auto body = std::make_shared<detail::file_body>();
    body->file = std::move(file);
    if (kind == range_kind::unsatisfiable) {
        res.header("Content-Range", "bytes */" + std::to_string(size));
        refuse(std::move(res), 416);
        return;
    }
    if (kind == range_kind::whole) {
        body->parts.push_back({.before = {}, .offset = 0, .length = size});
        res.content_type(type);
    } else if (ranges.size() == 1) {
        res.status(206).header("Content-Range", content_range(ranges[0], size)).content_type(type);
        body->parts.push_back(
            {.before = {}, .offset = ranges[0].first, .length = ranges[0].length});
    } else {
        const std::string boundary = random_boundary();
        res.status(206).content_type("multipart/byteranges; boundary=" + boundary);
        for (const byte_range& r : ranges) {
            std::string before = (body->parts.empty() ? "--" : "\r\n--") + boundary +
                                 "\r\nContent-Type: " + type +
                                 "\r\nContent-Range: " + content_range(r, size) + "\r\n\r\n";
            body->parts.push_back(
                {.before = std::move(before), .offset = r.first, .length = r.length});
        }
        body->after = "\r\n--" + boundary + "--\r\n";
    }
    detail::connection::send_file(std::move(res), std::move(body));
}

void serve(const root& from, response res) {
    const file_options& options = from.options;
    const request& req = res.request();
    if (req.method() == method::other) {
        refuse(std::move(res), 501);
        return;
    }
    if (req.method() != method::get && req.method() != method::head) {
        res.header("Allow", "GET, HEAD");
        refuse(std::move(res), 405);
        return;
    }
    std::string_view target = req.param(options.parameter);
    if (target.data() == nullptr) target = req.path().substr(req.path().starts_with('/') ? 1 : 0);
    const auto where = place_of(target, options.hidden);
    if (!where) {
        refuse(std::move(res), 404);
        return;
    }
    std::string path = where->path;
    unique_fd file;
    struct stat about{};
    const auto open = [&](const std::string& name) {
        file = open_below(from.directory.get(), name.c_str());
        return file && ::fstat(file.get(), &about) == 0;
    };
    bool found = open(path);
    int why = found ? 0 : errno;
    if (found && S_ISDIR(about.st_mode) && !options.index.empty()) {
        if (!where->directory) {
            // To where it is: no path of another host ("//") can come out, nor one that the peer
            // did not ask for.
            std::string_view path = req.path();
            if (path.starts_with("//")) path.remove_prefix(path.find_first_not_of('/') - 1);
            std::string to = encode_path(path) + "/";
            if (!req.query().empty()) to += "?" + std::string(req.query());
            res.header("Location", to);
            refuse(std::move(res), 308);
            return;
        }
        path += "/" + options.index;
        found = open(path);
        why = found ? 0 : errno;
    } else if (where->directory) {
        found = false;  // a file has nothing below it
    }
    if (!found || !S_ISREG(about.st_mode)) {
        refuse(std::move(res), why == EMFILE || why == ENFILE || why == ENOMEM ? 503 : 404);
        return;
    }
    const std::string type = type_of(path, options);
    if (options.precompressed) {
        res.header("Vary", "Accept-Encoding");
        unique_fd plain = std::move(file);
        const struct stat plain_about = about;
        if (preferred_coding(req.headers()) == content_coding::gzip && open(path + ".gz") &&
            S_ISREG(about.st_mode)) {
            res.header("Content-Encoding", "gzip");
        } else {
            file = std::move(plain);
            about = plain_about;
        }
    }
    if (!options.cache_control.empty()) res.header("Cache-Control", options.cache_control);
    send_regular(std::move(res), std::move(file), about, type, options.max_ranges);
}

}  // namespace

result<handler> serve_files(const std::string& directory, file_options options) {
    for (const auto& [extension, type] : options.types) {
        if (!is_field_value(type))
            return error(errc::bad_argument,
                         "content type of ." + extension + ": control characters");
    }
    auto from = std::make_shared<root>();
    from->options = std::move(options);
    from->directory = unique_fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!from->directory) return system_failure(errno, "cannot serve files of " + directory);
    if (!open_below(from->directory.get(), "."))
        return system_failure(errno, "cannot open files below " + directory + " (openat2)");
    return handler([from = std::shared_ptr<const root>(std::move(from))](response res) {
        serve(*from, std::move(res));
    });
}

}  // namespace wire::http
