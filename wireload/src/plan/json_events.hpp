// Reads a JSON text of a peer event by event (nlohmann/json's SAX interface), so that nothing is
// kept but what the reader asks for. Include it in sources only: the library is a large header.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace wireload {

// Each on_...() returns whether to go on.
class json_events : private nlohmann::json_sax<nlohmann::json> {
public:
    using json = nlohmann::json;

    // Whether `text` is one JSON value (RFC 8259) and every event said to go on. Refuses byte order
    // marks, numbers that no double holds, and what is nested more than `deepest` times.
    bool read(std::string_view text) {
        // The library takes a zero byte for the end of the text, and skips a byte order mark.
        if (text.find('\0') != text.npos || text.starts_with('\xef')) return false;
        nlohmann::json_sax<json>* const events = this;
        return json::sax_parse(text.data(), text.data() + text.size(), events);
    }

protected:
    static constexpr std::size_t deepest = 64;

    virtual bool on_start(bool object) = 0;
    virtual bool on_end() = 0;
    virtual bool on_key(std::string& name) = 0;
    // A value that is neither object nor array.
    virtual bool on_value(json&& value) = 0;
    // Of the objects and arrays that are open: in on_start() without the new one, in on_end()
    // without the one that ends.
    std::size_t depth() const { return depth_; }

private:
    bool start(bool is_object) {
        if (depth_ == deepest || !on_start(is_object)) return false;
        ++depth_;
        return true;
    }
    bool end() {
        --depth_;
        return on_end();
    }
    bool null() final { return on_value(nullptr); }
    bool boolean(bool value) final { return on_value(value); }
    bool number_integer(number_integer_t value) final { return on_value(value); }
    bool number_unsigned(number_unsigned_t value) final { return on_value(value); }
    bool number_float(number_float_t value, const string_t&) final { return on_value(value); }
    bool string(string_t& value) final { return on_value(std::move(value)); }
    bool binary(binary_t&) final { return false; }
    bool start_object(std::size_t) final { return start(true); }
    bool key(string_t& name) final { return on_key(name); }
    bool end_object() final { return end(); }
    bool start_array(std::size_t) final { return start(false); }
    bool end_array() final { return end(); }
    bool parse_error(std::size_t, const std::string&, const json::exception&) final {
        return false;
    }

    std::size_t depth_ = 0;
};

}  // namespace wireload
