// Pages for a server's own error responses, those of serve_files() included: 400, 403, 404, 405,
// 408, 412 to 417, 421, 426, 431, 500, 501, 503 and 505. Answers to HEAD, also refusals, go
// without.
//
//     options.error_pages.set(404, "text/html", "<h1>Nothing here</h1>\n")
//         .set(5, "application/json", R"({"error":"ours"})");
//
// Without a page the body is a line of plain text. What handlers send themselves is never changed.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

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
        page one{std::move(content_type), std::move(body)};
        const auto at = std::find_if(pages_.begin(), pages_.end(), [&](const entry& known) {
            return known.first >= status_or_class;
        });
        if (at != pages_.end() && at->first == status_or_class) {
            at->second = std::move(one);
        } else {
            pages_.emplace(at, status_or_class, std::move(one));
        }
        return *this;
    }
    // The page for `status`, its own or that of its class; null when there is none. Dies when pages
    // are set.
    const page* find(int status) const noexcept {
        const page* of_class = nullptr;
        for (const entry& known : pages_) {
            if (known.first == status) return &known.second;
            if (known.first == status / 100) of_class = &known.second;
        }
        return of_class;
    }

    // Pairs of a status or class and its page, in ascending order.
    auto begin() const noexcept { return pages_.begin(); }
    auto end() const noexcept { return pages_.end(); }

private:
    using entry = std::pair<int, page>;

    // A few, by number. A map would add 3 KB to each program with a server.
    std::vector<entry> pages_;
};

}  // namespace wire::http
