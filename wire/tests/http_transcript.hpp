// For tests: a parser's answers, as text that does not depend on how the bytes were cut.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pieces.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/proto/trailers.hpp"

namespace wire::testing {

inline std::string describe(const http::request_head& h) {
    std::string out = std::string(h.method_text) + " " + std::string(h.target) + " 1." +
                      std::to_string(h.minor_version);
    for (const auto& f : h.headers)
        out += " [" + std::string(f.name) + "=" + std::string(f.value) + "]";
    if (h.framing == http::framing::length) out += " length " + std::to_string(h.content_length);
    if (h.framing == http::framing::chunked) out += " chunked";
    if (!h.keep_alive) out += " close";
    if (h.expects_continue) out += " expects-continue";
    if (h.wants_upgrade) out += " upgrade";
    return out;
}

inline std::string describe(const http::response_head& h) {
    std::string out = std::to_string(h.status) + " '" + std::string(h.reason) + "' 1." +
                      std::to_string(h.minor_version);
    for (const auto& f : h.headers)
        out += " [" + std::string(f.name) + "=" + std::string(f.value) + "]";
    if (h.framing == http::framing::length) out += " length " + std::to_string(h.content_length);
    if (h.framing == http::framing::chunked) out += " chunked";
    if (h.framing == http::framing::until_close) out += " until-close";
    if (!h.keep_alive) out += " close";
    return out;
}

// Events separated by "; ", adjacent body pieces joined. What is left over at the end is "left N".
template <typename Parser, typename Head> class http_transcript {
public:
    // `in_place`: by parse_in_place(), which responses have.
    explicit http_transcript(Parser& parser, bool in_place = false)
        : parser_(parser), in_place_(in_place) {}

    void feed(std::string_view piece) {
        held_ += piece;
        std::size_t at = 0;
        for (;;) {
            exact_copy in(std::string_view(held_).substr(at));
            const http::step s = next(in);
            held_.replace(at, in.size(), in.data(), in.size());
            at += s.consumed;
            if (s.what == http::event::need_more || s.what == http::event::error) {
                if (s.what == http::event::error) add("error " + std::string(to_string(s.error)));
                broken_ = s.what == http::event::error;
                break;
            }
            if (s.what == http::event::body) {
                if (!in_body_) add("body ");
                in_body_ = true;
                text_ += s.data;
            } else if (s.what == http::event::end) {
                add("end");
            } else if (s.what == http::event::trailer) {
                http::trailer_list().add(s.data);
                add("trailer [" + std::string(s.data) + "]");
            } else {
                add((s.what == http::event::interim ? "interim " : "head ") + describe(head_));
            }
        }
        held_.erase(0, at);
    }
    bool broken() const { return broken_; }
    std::size_t left() const { return held_.size(); }
    std::string text() const {
        return held_.empty() || broken_ ? text_ : text_ + "; left " + std::to_string(held_.size());
    }

private:
    http::step next(exact_copy& in) {
        if constexpr (requires { parser_.parse_in_place(std::span<char>(), head_); }) {
            if (in_place_) return parser_.parse_in_place({in.data(), in.size()}, head_);
        }
        return parser_.parse(in, head_);
    }
    void add(const std::string& what) {
        if (!text_.empty()) text_ += "; ";
        text_ += what;
        in_body_ = false;
    }

    Parser& parser_;
    bool in_place_;
    Head head_;
    std::string held_;
    std::string text_;
    bool in_body_ = false;
    bool broken_ = false;
};

}  // namespace wire::testing
