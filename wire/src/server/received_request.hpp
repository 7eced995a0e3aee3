// A request as the server fills it: what handlers see, and the bytes that it points to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "wire/server/request.hpp"

namespace wire::http::detail {

struct received_request final : request {
    using request::body_;
    using request::client_;
    using request::head_;
    using request::params_;
    using request::peer_;
    using request::proxied_by_;

    // Copies the bytes that `head_` points into, `raw`, and points it into the copy.
    void keep(std::string_view raw);
    // The same with what belongs to the connection, which may go before this.
    void keep(const wire::tls::connection_info& info);
    // The same with the names of `params_`, which are the route's.
    void keep_names();
    // A line of the body's trailer.
    void keep_trailer(std::string_view line);
    // Makes it ready for the next request; storage of moderate size stays.
    void clear() noexcept;

private:
    std::string raw_;
    std::string names_;     // of params_, one behind the other
    std::string tls_text_;  // what tls_ points to
};

// Storage above this goes back to the heap between requests.
constexpr std::size_t kept_bytes = 16 * 1024;

// Empties `text`, and gives storage above kept_bytes back to the heap.
inline void empty(std::string& text) noexcept {
    if (text.capacity() > kept_bytes) {
        text = {};
    } else {
        text.clear();
    }
}

}  // namespace wire::http::detail
