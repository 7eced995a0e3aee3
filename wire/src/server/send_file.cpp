// Responses that send a file which the application names.
#include "wire/server/send_file.hpp"

#include <fcntl.h>

#include <cerrno>

#include "exchange.hpp"
#include "file_answer.hpp"
#include "wire/proto/url.hpp"

namespace wire::http {

namespace {

// RFC 6266: a quoted name that all clients read, and where that cannot say all of it, RFC 8187's.
std::string disposition(std::string_view name) {
    std::string plain;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        const bool fits = byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '%';
        plain += fits ? c : '_';
    }
    std::string text = "attachment; filename=\"" + plain + "\"";
    if (plain != name) text += "; filename*=UTF-8''" + percent_encode(name);
    return text;
}

}  // namespace

void response::send_file(const std::string& path) { send_file(path, {}); }

void response::send_file(const std::string& path, const send_file_options& options) {
    response res = std::move(*this);
    // Not to wait for a pipe's other end, and not to be given a terminal.
    unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    const int why = file ? 0 : errno;
    struct stat about{};
    if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
        const bool is_short = why == EMFILE || why == ENFILE || why == ENOMEM;
        detail::response_access::of(res.remove_header("Content-Type")).say(is_short ? 503 : 404);
        res.send();
        return;
    }
    if (!options.download_as.empty())
        res.set_header("Content-Disposition", disposition(options.download_as));
    if (!options.cache_control.empty()) res.set_header("Cache-Control", options.cache_control);
    std::string type = options.content_type;
    if (type.empty()) type = res.header("Content-Type").value_or("");
    if (type.empty()) type = detail::type_of_file(path);
    res.remove_header("Content-Type");
    if (!is_field_value(type)) {
        detail::response_access::of(res).refused = true;
        res.send();
        return;
    }
    detail::answer_with_file(std::move(res), std::move(file), about, type, options.max_ranges);
}

}  // namespace wire::http
