// Serves the files of a directory: finds and opens them below it. file_answer.cpp sends them.
#include "wire/server/files.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include "file_answer.hpp"
#include "wire/proto/accept_encoding.hpp"
#include "wire/proto/url.hpp"

namespace wire::http {

using detail::refuse;

namespace {

struct root {
    unique_fd directory;
    file_options options;
};

std::string type_of(const std::string& path, const file_options& options) {
    const auto it = options.types.find(detail::extension_of(path));
    return it != options.types.end() ? it->second : std::string(detail::type_of_file(path));
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

// Opens the most welcome of the files that hold the same packed, the smallest first of those that
// are equally welcome.
template <typename Open>
content_coding open_packed(const header_list& fields, const std::string& path, Open& open,
                           const struct stat& about) {
    constexpr std::array usual{content_coding::br, content_coding::zstd, content_coding::gzip};
    for (const content_coding c : accepted_codings(fields, usual)) {
        const std::string_view extension = c == content_coding::br     ? ".br"
                                           : c == content_coding::zstd ? ".zst"
                                                                       : ".gz";
        if (open(path + std::string(extension)) && S_ISREG(about.st_mode)) return c;
    }
    return content_coding::identity;
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
        const auto coding = open_packed(req.headers(), path, open, about);
        if (coding != content_coding::identity) {
            res.header("Content-Encoding", to_string(coding));
        } else {
            file = std::move(plain);
            about = plain_about;
        }
    }
    if (!options.cache_control.empty()) res.header("Cache-Control", options.cache_control);
    detail::answer_with_file(std::move(res), std::move(file), about, type, options.max_ranges);
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
