#include "message.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "wire/proto/http_types.hpp"
#include "wire/proto/http_writer.hpp"

namespace wireload {
namespace {

struct digits {
    explicit digits(std::uint64_t value)
        : size(static_cast<std::size_t>(std::to_chars(text, text + sizeof text, value).ptr - text)) {}
    std::string_view view() const { return {text, size}; }
    char text[20];
    std::size_t size;
};

}  // namespace

std::string serialise_request(const options& asked, const wire::url& url) {
    wire::buffer out;
    auto head = wire::http::head_writer::request(out, asked.method, url.target);
    const auto host = std::find_if(asked.headers.begin(), asked.headers.end(), [](const auto& h) {
        return wire::http::equals_ignoring_case(h.first, "host");
    });
    head.field("Host", host == asked.headers.end() ? std::string_view(url.authority()) : std::string_view(host->second));
    for (const auto& [name, value] : asked.headers) {
        if (!wire::http::equals_ignoring_case(name, "host")) head.field(name, value);
    }
    if (!asked.keep_alive) head.field("Connection", "close");
    // RFC 9110 section 8.6: a method that anticipates content says its length even when that is 0.
    if (!asked.body.empty() || asked.method == "POST" || asked.method == "PUT" || asked.method == "PATCH") {
        head.field("Content-Length", std::uint64_t{asked.body.size()});
    }
    // Names and values were checked when the command line was read.
    if (head.finish() != wire::errc::none) return {};
    return std::string(out.view()) + asked.body;
}

message_template::message_template(std::string_view text, bool binary)
    : op_(binary ? wire::ws::opcode::binary : wire::ws::opcode::text) {
    const std::size_t at = text.find("{c}");
    counted_ = at != std::string_view::npos;
    before_ = text.substr(0, at);
    if (counted_) after_ = text.substr(at + 3);
}

std::string message_template::text(std::uint64_t counter) const {
    return counted_ ? before_ + std::string(digits(counter).view()) + after_ : before_;
}

bool message_template::equals(std::string_view received, std::uint64_t counter) const {
    if (!counted_) return received == before_;
    const digits number(counter);
    return received.size() == before_.size() + number.size + after_.size() && received.starts_with(before_) &&
           received.substr(before_.size(), number.size) == number.view() && received.ends_with(after_);
}

std::size_t message_template::append_frame(wire::buffer& out, std::uint64_t counter, wire::ws::mask_key key, std::size_t offset,
                                           std::size_t most) const {
    const digits number(counter);
    const std::array<std::string_view, 3> parts = {before_, counted_ ? number.view() : std::string_view(), after_};
    const std::size_t length = parts[0].size() + parts[1].size() + parts[2].size();

    // The offset counts payload bytes; the header always goes with the first of them.
    std::size_t budget = std::max<std::size_t>(most, 1);
    if (offset == 0) {
        const auto space = out.prepare(wire::ws::max_frame_header_bytes);
        out.commit(wire::ws::write_frame_header(space.first<wire::ws::max_frame_header_bytes>(), op_, length, true, key));
    }
    std::size_t start = 0;  // of the part, in the payload
    for (const std::string_view part : parts) {
        if (offset < start + part.size() && budget > 0) {
            const std::string_view piece = part.substr(offset - start, budget);
            wire::ws::copy_masked(out.prepare(piece.size()).data(), piece, key, offset);
            out.commit(piece.size());
            offset += piece.size();
            budget -= piece.size();
        }
        start += part.size();
    }
    return offset == length ? 0 : offset;
}

}  // namespace wireload
