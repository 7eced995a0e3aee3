// A parsed head whose bytes were copied elsewhere: its views follow.
#pragma once

#include <functional>
#include <string_view>

#include "wire/proto/http_parser.hpp"

namespace wire::http::detail {

class rebase {
public:
    rebase(std::string_view from, const char* to) noexcept : from_(from), to_(to) {}

    // Views of nothing, and of constants outside `from`, stay.
    void operator()(std::string_view& view) const noexcept {
        const std::less<> before;
        if (view.empty() || before(view.data(), from_.data()) ||
            !before(view.data(), from_.data() + from_.size()))
            return;
        view = {to_ + (view.data() - from_.data()), view.size()};
    }
    void operator()(header_list& headers) const noexcept {
        for (header& h : headers) {
            (*this)(h.name);
            (*this)(h.value);
        }
    }

private:
    std::string_view from_;
    const char* to_;
};

}  // namespace wire::http::detail
