// Reads dates, entity tags and byte ranges, and decides what a conditional request gets.
#include "wire/proto/conditional.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "char_tables.hpp"

namespace wire::http {

using namespace detail;

namespace {

// Takes `literal` from the front.
bool take(std::string_view& text, std::string_view literal) noexcept {
    if (text.substr(0, literal.size()) != literal) return false;
    text.remove_prefix(literal.size());
    return true;
}

bool take_number(std::string_view& text, std::size_t digits, int& out) noexcept {
    if (text.size() < digits) return false;
    out = 0;
    for (std::size_t i = 0; i < digits; ++i) {
        if (!is_digit(text[i])) return false;
        out = out * 10 + (text[i] - '0');
    }
    text.remove_prefix(digits);
    return true;
}

bool take_month(std::string_view& text, int& out) noexcept {
    constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (text.size() < 3) return false;
    const std::size_t at = months.find(text.substr(0, 3));
    if (at == std::string_view::npos || at % 3 != 0) return false;
    out = static_cast<int>(at / 3) + 1;
    text.remove_prefix(3);
    return true;
}

// "Sun", or in full "Sunday". It is not checked that the date falls on that day.
bool is_day(std::string_view text, bool full) noexcept {
    for (const std::string_view day :
         {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}) {
        if (text == (full ? day : day.substr(0, 3))) return true;
    }
    return false;
}

struct moment {
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
};

bool take_time(std::string_view& text, moment& m) noexcept {
    return take_number(text, 2, m.hour) && take(text, ":") && take_number(text, 2, m.minute) &&
           take(text, ":") && take_number(text, 2, m.second);
}

// "06 Nov 1994 08:49:37 GMT", what follows the day's name and its comma.
bool read_imf(std::string_view text, moment& m) noexcept {
    return take_number(text, 2, m.day) && take(text, " ") && take_month(text, m.month) &&
           take(text, " ") && take_number(text, 4, m.year) && take(text, " ") &&
           take_time(text, m) && text == " GMT";
}

// "06-Nov-94 08:49:37 GMT"
bool read_rfc850(std::string_view text, moment& m) noexcept {
    if (!(take_number(text, 2, m.day) && take(text, "-") && take_month(text, m.month) &&
          take(text, "-") && take_number(text, 2, m.year) && take(text, " ") &&
          take_time(text, m) && text == " GMT")) {
        return false;
    }
    m.year += m.year < 70 ? 2000 : 1900;
    return true;
}

// "Nov  6 08:49:37 1994"
bool read_asctime(std::string_view text, moment& m) noexcept {
    return take_month(text, m.month) && take(text, " ") &&
           (take(text, " ") ? take_number(text, 1, m.day) : take_number(text, 2, m.day)) &&
           take(text, " ") && take_time(text, m) && take(text, " ") &&
           take_number(text, 4, m.year) && text.empty();
}

// Whether `value`, "*" or a list of entity tags, has ours: by the strong comparison neither may be
// weak (section 8.8.3.2).
bool names_etag(std::string_view value, std::string_view ours, bool strong) noexcept {
    if (value == "*") return true;
    const bool our_weak = take(ours, "W/");
    for (;;) {
        while (!value.empty() &&
               (value.front() == ' ' || value.front() == '\t' || value.front() == ','))
            value.remove_prefix(1);
        const bool weak = take(value, "W/");
        if (value.empty() || value.front() != '"') return false;
        const std::size_t end = value.find('"', 1);
        if (end == std::string_view::npos) return false;
        if (!ours.empty() && value.substr(0, end + 1) == ours && !(strong && (weak || our_weak)))
            return true;
        value.remove_prefix(end + 1);
    }
}

// The same over all lines of a field; none when there is no such field.
std::optional<bool> any_names_etag(const header_list& fields, std::string_view name,
                                   const validators& v, bool strong) noexcept {
    std::optional<bool> found;
    for (const header& h : fields) {
        if (equals_ignoring_case(h.name, name))
            found = found.value_or(false) || names_etag(h.value, v.etag, strong);
    }
    return found;
}

// None where the field is missing, given twice, or no date: such a condition is to be ignored.
std::optional<std::int64_t> find_date(const header_list& fields, std::string_view name) noexcept {
    const auto text = fields.find_only(name);
    return text ? parse_date(*text) : std::nullopt;
}

bool take_bytes(std::string_view& text, std::uint64_t& out) noexcept {
    if (text.empty() || !is_digit(text.front())) return false;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc()) out = UINT64_MAX;  // beyond any file
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

}  // namespace

std::optional<std::int64_t> parse_date(std::string_view text) noexcept {
    moment m;
    const std::size_t comma = text.find(", ");
    bool ok = false;
    if (comma == std::string_view::npos) {
        ok = is_day(text.substr(0, 3), false) && text.size() > 4 && text[3] == ' ' &&
             read_asctime(text.substr(4), m);
    } else if (comma == 3) {
        ok = is_day(text.substr(0, 3), false) && read_imf(text.substr(comma + 2), m);
    } else {
        ok = is_day(text.substr(0, comma), true) && read_rfc850(text.substr(comma + 2), m);
    }
    using namespace std::chrono;
    const year_month_day date{year(m.year), month(static_cast<unsigned>(m.month)),
                              day(static_cast<unsigned>(m.day))};
    if (!ok || !date.ok() || m.hour > 23 || m.minute > 59 || m.second > 60) return std::nullopt;
    return sys_seconds(sys_days(date)).time_since_epoch().count() + m.hour * 3600 + m.minute * 60 +
           m.second;
}

precondition check_preconditions(const header_list& fields, method m,
                                 const validators& v) noexcept {
    if (const auto match = any_names_etag(fields, "if-match", v, true)) {
        if (!*match) return precondition::failed;
    } else if (const auto date = find_date(fields, "if-unmodified-since");
               date && v.modified > *date) {
        return precondition::failed;
    }
    const bool reading = m == method::get || m == method::head;
    if (const auto match = any_names_etag(fields, "if-none-match", v, false)) {
        if (*match) return reading ? precondition::not_modified : precondition::failed;
    } else if (const auto date = find_date(fields, "if-modified-since");
               reading && date && v.modified && *v.modified <= *date) {
        return precondition::not_modified;
    }
    return precondition::holds;
}

range_kind check_ranges(const header_list& fields, const validators& v, std::uint64_t size,
                        std::size_t most, std::vector<byte_range>& out) {
    out.clear();
    const auto range = fields.find_only("range");
    if (!range) return range_kind::whole;
    if (fields.find("if-range")) {
        const auto condition = fields.find_only("if-range").value_or("");
        const auto date = parse_date(condition);
        const bool holds = date ? v.date_is_strong && date == v.modified
                                : !v.etag.empty() && !v.etag.starts_with("W/") &&
                                      condition == v.etag;  // one tag, and no list
        if (!holds) return range_kind::whole;
    }
    std::string_view text = *range;
    if (text.size() < 6 || !equals_ignoring_case(text.substr(0, 6), "bytes="))
        return range_kind::whole;
    text.remove_prefix(6);
    std::size_t asked = 0;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        std::string_view one = trim(text.substr(0, comma));
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
        if (one.empty()) continue;  // lists may have empty elements
        if (++asked > most) return range_kind::whole;
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        if (take_bytes(one, first)) {
            if (!take(one, "-")) return range_kind::whole;
            const bool open = one.empty();
            if (!open && (!take_bytes(one, last) || !one.empty() || last < first))
                return range_kind::whole;
            if (first >= size) continue;
            last = open ? size - 1 : std::min(last, size - 1);
        } else {
            std::uint64_t suffix = 0;
            if (!take(one, "-") || !take_bytes(one, suffix) || !one.empty())
                return range_kind::whole;
            if (suffix == 0) continue;
            // Satisfiable, and all that there is: section 14.1.2. No Content-Range can say so.
            if (size == 0) return range_kind::whole;
            first = size - std::min(suffix, size);
            last = size - 1;
        }
        for (const byte_range& other : out) {
            if (first < other.first + other.length && other.first <= last) return range_kind::whole;
        }
        out.push_back({first, last - first + 1});
    }
    if (asked == 0) return range_kind::whole;
    return out.empty() ? range_kind::unsatisfiable : range_kind::partial;
}

}  // namespace wire::http
