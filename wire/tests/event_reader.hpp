// A client of text/event-stream, as section 9.2.6 of the HTML standard interprets a stream.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace wire::testing {

struct event_reader {
    struct event {
        std::string type;
        std::string data;
    };

    // A part of the stream that ends with a line's end.
    void read(std::string_view text) {
        if (text.starts_with("\xEF\xBB\xBF") && !begun_) text.remove_prefix(3);
        begun_ = true;
        while (!text.empty()) {
            const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
            take_line(text.substr(0, end));
            text.remove_prefix(
                std::min(end + (text.substr(end, 2) == "\r\n" ? 2 : 1), text.size()));
        }
    }

    static std::string with_lf(std::string_view text) {
        std::string out;
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
            out += text[i] == '\r' ? '\n' : text[i];
        }
        return out;
    }

    std::vector<event> events;
    std::string last_id;
    long retry_ms = -1;

private:
    void take_line(std::string_view line) {
        if (line.empty()) return dispatch();
        const std::size_t colon = line.find(':');
        if (colon == 0) return;
        std::string_view value;
        if (colon != std::string_view::npos) value = line.substr(colon + 1);
        if (value.starts_with(' ')) value.remove_prefix(1);
        const std::string_view field = line.substr(0, colon);
        if (field == "event") type_ = value;
        if (field == "data") data_ += std::string(value) + '\n';
        if (field == "id" && value.find('\0') == std::string_view::npos) id_ = value;
        if (field == "retry" && value.find_first_not_of("0123456789") == std::string_view::npos)
            retry_ms = std::stol(std::string(value));
    }
    void dispatch() {
        last_id = id_;
        if (!data_.empty()) {
            data_.pop_back();
            events.push_back({type_.empty() ? "message" : type_, data_});
        }
        data_.clear();
        type_.clear();
    }

    std::string type_;
    std::string data_;
    std::string id_;
    bool begun_ = false;
};

}  // namespace wire::testing
