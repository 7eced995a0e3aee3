// HTTP: the last reply to each request that was parsed, found right and came whole. A reply with
// the same bytes is right without being parsed (see http_connection::consume_known).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plan/rotation.hpp"

namespace wireload {

class known_replies {
public:
    struct reply {
        std::string text;
        int status = 0;
    };

    explicit known_replies(std::size_t requests) : replies_(requests) {}

    const reply& to(const prepared_request& r) const { return replies_[r.index]; }
    void remember(const prepared_request& r, std::string_view text, int status) {
        reply& known = replies_[r.index];
        if (text.size() > longest || bytes_ - known.text.size() + text.size() > most) return;
        bytes_ += text.size() - known.text.size();
        known.text = text;
        known.status = status;
    }

private:
    static constexpr std::size_t longest = 16 * 1024;
    static constexpr std::size_t most = 4 * 1024 * 1024;  // of all requests

    std::vector<reply> replies_;  // by request
    std::size_t bytes_ = 0;
};

}  // namespace wireload
