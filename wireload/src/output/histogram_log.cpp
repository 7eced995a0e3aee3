#include "output/histogram_log.hpp"

#include <bit>
#include <ctime>
#include <stdexcept>
#include <type_traits>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <zlib.h>

namespace wireload {
namespace {

constexpr std::uint32_t v2_cookie = 0x1c849303 | 0x10;
constexpr std::uint32_t v2_compressed_cookie = 0x1c849304 | 0x10;

template <typename Integer> void append_big_endian(std::string& out, Integer value) {
    const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
    for (int shift = static_cast<int>(sizeof(Integer)) * 8 - 8; shift >= 0; shift -= 8) {
        out.push_back(static_cast<char>((bits >> shift) & 0xff));
    }
}

// ZigZag and LEB128 as HdrHistogram has it: nine bytes at most, the ninth carrying eight bits.
void append_zigzag(std::string& out, std::int64_t value) {
    std::uint64_t bits =
        (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
    for (int i = 0; i < 8 && bits >= 0x80; ++i) {
        out.push_back(static_cast<char>((bits & 0x7f) | 0x80));
        bits >>= 7;
    }
    out.push_back(static_cast<char>(bits));
}

std::string encode_v2(const histogram& values) {
    std::string counts;
    std::int64_t zeros = 0;
    for (std::size_t i = 0; i < values.used_buckets(); ++i) {
        const std::uint64_t count = values.count_at(i);
        if (count == 0) {
            ++zeros;
            continue;
        }
        // A run of empty buckets is its negative length.
        if (zeros != 0) append_zigzag(counts, -zeros);
        zeros = 0;
        append_zigzag(counts, static_cast<std::int64_t>(count));
    }
    std::string out;
    append_big_endian(out, v2_cookie);
    append_big_endian(out, static_cast<std::uint32_t>(counts.size()));
    append_big_endian(out, std::uint32_t{0});  // normalizing index offset
    append_big_endian(out, static_cast<std::uint32_t>(histogram::significant_digits));
    append_big_endian(out, histogram::lowest_ns);
    append_big_endian(out, histogram::highest_ns);
    // Integer to double conversion ratio.
    append_big_endian(out, std::bit_cast<std::uint64_t>(1.0));
    return out + counts;
}

double seconds(std::chrono::nanoseconds t) { return std::chrono::duration<double>(t).count(); }

}  // namespace

std::string encode_v2_compressed(const histogram& values) {
    const std::string plain = encode_v2(values);
    uLongf size = compressBound(static_cast<uLong>(plain.size()));
    std::string packed(size, '\0');
    const int status = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                                 reinterpret_cast<const Bytef*>(plain.data()),
                                 static_cast<uLong>(plain.size()), Z_DEFAULT_COMPRESSION);
    if (status != Z_OK)
        throw std::runtime_error(fmt::format("zlib: compress2 returned {}", status));
    packed.resize(size);
    std::string out;
    append_big_endian(out, v2_compressed_cookie);
    append_big_endian(out, static_cast<std::uint32_t>(packed.size()));
    return base64(out + packed);
}

std::string base64(std::string_view bytes) {
    static constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            group = (group << 8) |
                    (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        }
        for (std::size_t k = 0; k < 4; ++k) {
            out.push_back(i + k <= bytes.size() ? alphabet[(group >> (18 - 6 * k)) & 63] : '=');
        }
    }
    return out;
}

histogram_log_writer::histogram_log_writer(std::ostream& out, std::string_view comment,
                                           std::chrono::nanoseconds start_since_epoch)
    : out_(out) {
    const auto start = static_cast<std::time_t>(
        std::chrono::floor<std::chrono::seconds>(start_since_epoch).count());
    out_ << fmt::format("#{}\n#[Histogram log format version 1.3]\n", comment)
         << fmt::format(
                "#[StartTime: {:.3f} (seconds since epoch), {:%a %b %d %H:%M:%S} UTC {:%Y}]\n",
                seconds(start_since_epoch), fmt::gmtime(start), fmt::gmtime(start))
         << "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_"
            "Histogram\"\n";
}

void histogram_log_writer::write(const histogram& values, std::chrono::nanoseconds offset,
                                 std::chrono::nanoseconds length) {
    const double max_ms = static_cast<double>(values.max_ns().value_or(0)) / 1e6;
    out_ << fmt::format("{:.3f},{:.3f},{:.3f},{}\n", seconds(offset), seconds(length), max_ms,
                        encode_v2_compressed(values));
}

}  // namespace wireload
