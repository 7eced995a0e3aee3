// Appends heads and chunks to a buffer, and checks what could split a message.
#include "wire/proto/http_writer.hpp"

#include <charconv>

#include "char_tables.hpp"

namespace wire::http {

namespace {

constexpr std::string_view crlf = "\r\n";

bool is_target(std::string_view text) noexcept {
    for (const char c : text) {
        if (c <= ' ' || c >= 0x7F) return false;  // bytes from 0x80 are negative or above
    }
    return !text.empty();
}

}  // namespace

head_writer head_writer::request(buffer& out, std::string_view method, std::string_view target) {
    head_writer w(out);
    if (!is_token(method)) {
        w.error_ = errc::bad_argument;
    } else if (!is_target(target)) {
        w.error_ = errc::bad_target;
    } else {
        out.append(method);
        out.append(' ');
        out.append(target);
        out.append(" HTTP/1.1\r\n");
    }
    return w;
}

head_writer head_writer::response(buffer& out, int status, std::string_view reason,
                                  int minor_version) {
    head_writer w(out);
    if (status < 100 || status > 999 || !is_field_value(reason)) {
        w.error_ = errc::bad_argument;
        return w;
    }
    out.append(minor_version == 0 ? "HTTP/1.0 " : "HTTP/1.1 ");
    out.append_number(static_cast<unsigned>(status));
    out.append(' ');
    out.append(reason.empty() ? reason_phrase(status) : reason);
    out.append(crlf);
    return w;
}

head_writer& head_writer::field(std::string_view name, std::string_view value) {
    if (error_ != errc::none) return *this;
    if (!is_token(name)) {
        error_ = errc::bad_header_name;
    } else if (!is_field_value(value)) {
        error_ = errc::bad_header_value;
    } else {
        auto space = out_->prepare(name.size() + value.size() + 4);
        char* p = space.data();
        p = static_cast<char*>(std::memcpy(p, name.data(), name.size())) + name.size();
        *p++ = ':';
        *p++ = ' ';
        if (!value.empty())
            p = static_cast<char*>(std::memcpy(p, value.data(), value.size())) + value.size();
        *p++ = '\r';
        *p++ = '\n';
        out_->commit(static_cast<std::size_t>(p - space.data()));
    }
    return *this;
}

head_writer& head_writer::field(std::string_view name, std::uint64_t value) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return field(name, std::string_view(digits, static_cast<std::size_t>(end - digits)));
}

head_writer& head_writer::raw(std::string_view lines) {
    if (error_ == errc::none) out_->append(lines);
    return *this;
}

errc head_writer::finish() {
    if (error_ == errc::none) {
        out_->append(crlf);
    } else {
        out_->truncate(start_);
    }
    return error_;
}

void append_chunk(buffer& out, std::string_view data) {
    if (data.empty()) return;
    char size[18];
    char* end = std::to_chars(size, size + 16, data.size(), 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out.append({size, static_cast<std::size_t>(end - size)});
    out.append(data);
    out.append(crlf);
}

void append_last_chunk(buffer& out, std::string_view trailer) {
    out.append("0\r\n");
    if (!trailer.empty()) out.append(trailer);
    out.append("\r\n");
}

std::array<char, 29> format_date(std::int64_t unix_seconds) noexcept {
    constexpr std::string_view days = "ThuFriSatSunMonTueWed";  // 1 January 1970 was a Thursday
    constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    std::int64_t day = unix_seconds / 86400;
    std::int64_t second = unix_seconds % 86400;
    if (second < 0) {
        second += 86400;
        --day;
    }
    const auto weekday = static_cast<std::size_t>((day % 7 + 7) % 7);
    // Civil date from a day number, with years that begin in March so that the leap day comes last.
    const std::int64_t shifted = day + 719468;
    const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    const std::int64_t day_of_era = shifted - era * 146097;
    const std::int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const std::int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t march_month = (5 * day_of_year + 2) / 153;
    const std::int64_t month_day = day_of_year - (153 * march_month + 2) / 5 + 1;
    // 0 = January.
    const std::int64_t month = march_month < 10 ? march_month + 2 : march_month - 10;
    const std::int64_t year = year_of_era + era * 400 + (month <= 1 ? 1 : 0);

    std::array<char, 29> text{};
    char* p = text.data();
    const auto put = [&p](std::string_view s) {
        p = static_cast<char*>(std::memcpy(p, s.data(), s.size())) + s.size();
    };
    const auto put_number = [&p](std::int64_t n, int width) {
        for (int i = width - 1; i >= 0; --i, n /= 10) p[i] = static_cast<char>('0' + n % 10);
        p += width;
    };
    put(days.substr(weekday * 3, 3));
    put(", ");
    put_number(month_day, 2);
    put(" ");
    put(months.substr(static_cast<std::size_t>(month) * 3, 3));
    put(" ");
    put_number(year, 4);
    put(" ");
    put_number(second / 3600, 2);
    put(":");
    put_number(second / 60 % 60, 2);
    put(":");
    put_number(second % 60, 2);
    put(" GMT");
    return text;
}

}  // namespace wire::http
