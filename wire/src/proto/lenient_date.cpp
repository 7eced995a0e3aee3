// The date algorithm of RFC 6265 section 5.1.1: tokens in any order.
#include "wire/proto/lenient_date.hpp"

#include <array>

#include "char_tables.hpp"

namespace wire::http {

namespace {

using detail::is_digit;
using detail::lower;

// RFC 6265 section 5.1.1.
bool is_delimiter(char c) noexcept {
    const auto u = static_cast<unsigned char>(c);
    return u == 0x09 || (u >= 0x20 && u <= 0x2F) || (u >= 0x3B && u <= 0x40) ||
           (u >= 0x5B && u <= 0x60) || (u >= 0x7B && u <= 0x7E);
}

// A number of `least` to `most` digits that begins at `at`, which moves behind it; -1 when there is
// none.
int number(std::string_view text, std::size_t& at, std::size_t least, std::size_t most) noexcept {
    int value = 0;
    std::size_t n = 0;
    while (at < text.size() && n < most && is_digit(text[at])) {
        value = value * 10 + (text[at++] - '0');
        ++n;
    }
    return n < least || (at < text.size() && is_digit(text[at])) ? -1 : value;
}

bool read_time(std::string_view token, std::array<int, 3>& time) noexcept {
    std::size_t at = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        if (i > 0 && (at >= token.size() || token[at++] != ':')) return false;
        time[i] = number(token, at, 1, 2);
        if (time[i] < 0) return false;
    }
    return true;
}

int month_of(std::string_view token) noexcept {
    constexpr std::string_view names = "janfebmaraprmayjunjulaugsepoctnovdec";
    if (token.size() < 3) return 0;
    for (int m = 0; m < 12; ++m) {
        const auto at = static_cast<std::size_t>(m) * 3;
        if (lower(token[0]) == names[at] && lower(token[1]) == names[at + 1] &&
            lower(token[2]) == names[at + 2])
            return m + 1;
    }
    return 0;
}

int days_in(int month, int year) noexcept {
    constexpr std::array<int, 12> days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

// Days since 1970-01-01 of the proleptic Gregorian calendar: a year that begins in March has its
// leap day last.
std::int64_t days_from_civil(std::int64_t year, int month, int day) noexcept {
    year -= month <= 2 ? 1 : 0;
    const std::int64_t era = year / 400;
    const std::int64_t of_era = year - era * 400;
    const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

}  // namespace

std::optional<std::int64_t> parse_lenient_date(std::string_view text) noexcept {
    std::array<int, 3> time{-1, -1, -1};
    int day = -1;
    int month = 0;
    int year = -1;
    bool have_time = false;
    for (std::size_t at = 0; at < text.size();) {
        if (is_delimiter(text[at])) {
            ++at;
            continue;
        }
        const std::size_t begin = at;
        while (at < text.size() && !is_delimiter(text[at])) ++at;
        const std::string_view token = text.substr(begin, at - begin);
        std::size_t in_token = 0;
        if (!have_time && read_time(token, time)) {
            have_time = true;
            continue;
        }
        if (day < 0) {
            day = number(token, in_token, 1, 2);
            if (day >= 0) continue;
        }
        if (month == 0) {
            month = month_of(token);
            if (month != 0) continue;
        }
        if (year < 0) {
            in_token = 0;
            year = number(token, in_token, 2, 4);
        }
    }
    if (year >= 70 && year <= 99) year += 1900;
    if (year >= 0 && year <= 69) year += 2000;
    if (!have_time || month == 0 || year < 1601 || day < 1 || day > days_in(month, year))
        return std::nullopt;
    if (time[0] > 23 || time[1] > 59 || time[2] > 59) return std::nullopt;
    return days_from_civil(year, month, day) * 86400 + time[0] * 3600 + time[1] * 60 + time[2];
}

}  // namespace wire::http
