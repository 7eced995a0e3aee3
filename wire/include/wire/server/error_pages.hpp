// What a server's own refusals say, as data: 400, 404, 405, 408, 413, 414, 426, 431, 500, 501, 503
// and 505.
//
//     options.error_pages.set(404, "text/html", "<h1>Nothing here</h1>\n").set(5,
//     "application/json", R"({"error":"ours"})");
//
// Without a page the body is a line of plain text. What handlers send themselves is never changed.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace wire::http {

class error_pages {
public:
    struct page {
        std::string content_type;
        std::string body;
    };

    // For one status (400 to 599) or, with 4 or 5, for a whole class. The status goes before its
    // class, the later of two before the earlier. server::listen() refuses other numbers, and a
    // content type that may not stand in a header.
    error_pages& set(int status_or_class, std::string content_type, std::string body) {
        pages_.insert_or_assign(status_or_class, page{std::move(content_type), std::move(body)});
        return *this;
    }
    // Null when there is none.
    const page* find(int status) const noexcept {
        auto found = pages_.find(status);
        if (found == pages_.end()) found = pages_.find(status / 100);
        return found != pages_.end() ? &found->second : nullptr;
    }

    auto begin() const noexcept { return pages_.begin(); }
    auto end() const noexcept { return pages_.end(); }

private:
    std::map<int, page> pages_;
};

}  // namespace wire::http
