// Fuzz targets of what forms are read with.
#include <string>

#include "harness.hpp"
#include "targets.hpp"
#include "wire/proto/cookies.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/proto/multipart.hpp"
#include "wire/proto/parameters.hpp"

namespace wire::fuzz {

namespace {

// What a reader of a multipart body sees. After an error, how much was seen before depends on the
// cut.
class multipart_transcript {
public:
    explicit multipart_transcript(const limits& l) : limits_(&l), parser_("b", l) {}

    void feed(std::string_view piece) {
        held_ += piece;
        for (;;) {
            const testing::exact_copy copy(held_);
            const auto s = parser_.parse(copy, head_);
            require(s.consumed <= held_.size(), "more used than there was");
            held_.erase(0, s.consumed);
            using event = http::multipart_parser::event;
            if (s.what == event::need_more)
                require(held_.size() <= limits_->max_part_header_bytes + 5, "holds too much");
            if (s.what == event::part)
                seen_ += "<" + head_.name + "|" + head_.filename.value_or("-") + "|" +
                         head_.content_type + ">";
            if (s.what == event::data) seen_ += s.data;
            if (s.what == event::part_end) seen_ += ".";
            if (s.what == event::error) error_ = s.error;
            if (s.what == event::need_more || s.what == event::end || s.what == event::error)
                return;
        }
    }
    std::string verdict() const {
        if (error_ != errc::none) return std::string(to_string(error_));
        return seen_ + (parser_.finished() ? "$" : "");
    }

private:
    const limits* limits_;
    http::multipart_parser parser_;
    http::part_head head_;
    std::string held_;
    std::string seen_;
    errc error_ = errc::none;
};

}  // namespace

// A body whose boundary is "b", and the same bytes as a query and as cookies.
void forms(std::string_view input) {
    const limits l = small_limits();
    compare_cuts(input, [&l](const testing::pieces& cut) {
        multipart_transcript said(l);
        for (const auto piece : cut) said.feed(piece);
        return said.verdict();
    });
    if (const auto p = http::parameters::parse(input, l)) {
        require(p->size() <= l.max_parameters, "too many parameters");
        for (const auto& [name, value] : *p)
            require(name.size() + value.size() <= input.size(), "decoding made it longer");
    }
    http::header_list fields;
    fields.push_back({"Cookie", input});
    if (const auto c = http::cookie_list::parse(fields, l)) {
        for (const auto& [name, value] : *c) {
            require(!name.empty(), "a cookie without a name");
            if (const auto set =
                    http::set_cookie{.name = std::string(name), .value = std::string(value)}
                        .text()) {
                require(http::is_field_value(*set) && set->find(';') == std::string::npos,
                        "a cookie that splits its field");
            }
        }
    }
}

}  // namespace wire::fuzz
