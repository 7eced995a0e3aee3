// How the client fills in a reply, of which users only read.
#pragma once

#include "wire/client/reply.hpp"

namespace wire::http::detail {

struct reply_access {
    static response_head& head(reply& r) noexcept { return r.head_; }
    static const response_head& head(const reply& r) noexcept { return r.head_; }
    // The bytes that head() points into; they stay where they are when the reply is moved.
    static buffer& head_bytes(reply& r) noexcept { return r.head_bytes_; }
    static const buffer& head_bytes(const reply& r) noexcept { return r.head_bytes_; }
    static buffer& body(reply& r) noexcept { return r.body_; }

    static void set_opening(reply& r, const open_times& took, bool reused) noexcept {
        r.opening_ = took;
        r.reused_ = reused;
    }
    static void add_trailer(reply& r, std::string_view line) {
        if (r.trailers_ == nullptr) r.trailers_ = std::make_unique<trailer_list>();
        r.trailers_->add(line);
    }
    static void set_decoded(reply& r, bool decoded) noexcept { r.decoded_ = decoded; }
    static void set_way(reply& r, std::string url, std::vector<redirect> redirects) noexcept {
        r.url_ = std::move(url);
        r.redirects_ = std::move(redirects);
    }
};

}  // namespace wire::http::detail
