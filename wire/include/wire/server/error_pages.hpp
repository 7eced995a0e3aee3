// Pages for a server's own error responses, those of serve_files() included: 400, 403, 404, 405,
// 408, 412 to 417, 421, 426, 431, 500, 501, 503 and 505. Answers to HEAD, also refusals, go
// without.
//
//     options.error_pages.set(404, "text/html", "<h1>Nothing here</h1>\n")
//         .set(5, "application/json", R"({"error":"ours"})");
//
// Without a page the body is a line of plain text. What handlers send themselves is never changed.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace wire::http {

// Pages by status. A value: each loop of a server has its own copy, made by server::listen().
class error_pages {
public:
    // The body of a refusal, and its Content-Type.
    struct page {
        std::string content_type;
        std::string body;
    };

    // Sets the page for one status (400 to 599) or, with 4 or 5, for a whole class. The page of a
    // status goes before that of its class; a later page replaces an earlier one. Nothing is
    // checked here: server::listen() refuses other numbers, and a content type that may not stand
    // in a header, with errc::bad_argument.
    error_pages& set(int status_or_class, std::string content_type, std::string body) {
        pages_.insert_or_assign(status_or_class, page{std::move(content_type), std::move(body)});
        return *this;
    }
    // The page for `status`, its own or that of its class; null when there is none. Dies when pages
    // are set.
    const page* find(int status) const noexcept {
        auto found = pages_.find(status);
        if (found == pages_.end()) found = pages_.find(status / 100);
        return found != pages_.end() ? &found->second : nullptr;
    }

    // Pairs of a status or class and its page, in ascending order.
    auto begin() const noexcept { return pages_.begin(); }
    auto end() const noexcept { return pages_.end(); }

private:
    std::map<int, page> pages_;
};

}  // namespace wire::http
