// Writes multipart/form-data: each part's head and content, with the boundary between them.
//
// A form is a list of pieces. One that begins a part has the part's head, which the boundary will
// be written before; content follows, in memory or on disk.
#include "wire/client/form_data.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "disk_file.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

namespace detail {

struct form_piece {
    std::string bytes;
    std::shared_ptr<const disk_file> file = {};  // instead of `bytes`
    bool begins_part = false;

    std::uint64_t size() const noexcept { return file != nullptr ? file->size() : bytes.size(); }
};

}  // namespace detail

using detail::form_piece;

namespace {

// WHATWG HTML, "escape a multipart form data name".
std::string escaped(std::string_view name) {
    std::string out;
    for (const char c : name) {
        switch (c) {
        case '\r': out += "%0D"; break;
        case '\n': out += "%0A"; break;
        case '"': out += "%22"; break;
        default: out += c;
        }
    }
    return out;
}

// RFC 2046 section 5.1.1 wants a boundary that is in no part. 128 random bits are not; what is in
// memory is searched nevertheless.
std::string random_boundary() {
    std::array<unsigned char, 16> bits{};
    // Cannot be cut short at this size.
    [[maybe_unused]] const auto n = ::getrandom(bits.data(), bits.size(), 0);
    std::string out = "----wire";
    for (const unsigned char b : bits) {
        out += "0123456789abcdef"[b >> 4];
        out += "0123456789abcdef"[b & 15];
    }
    return out;
}
std::string boundary_for(const std::vector<form_piece>& pieces) {
    for (;;) {
        std::string boundary = random_boundary();
        if (std::none_of(pieces.begin(), pieces.end(), [&](const form_piece& p) {
                return p.bytes.find(boundary) != std::string::npos;
            }))
            return boundary;
    }
}

// Gives the pieces one after the other.
class form_reader {
public:
    explicit form_reader(std::vector<form_piece> pieces) : pieces_(std::move(pieces)) {}

    result<source_state> pull(buffer& out, std::size_t most) {
        const std::size_t last = out.size() + most;
        while (next_ < pieces_.size() && out.size() < last) {
            const form_piece& p = pieces_[next_];
            if (at_ == p.size()) {
                ++next_;
                at_ = 0;
            } else if (p.file != nullptr) {
                auto got = p.file->read(at_, last - out.size(), out);
                if (!got) return got.error();
                at_ += *got;
            } else {
                const auto part = std::string_view(p.bytes).substr(static_cast<std::size_t>(at_),
                                                                   last - out.size());
                out.append(part);
                at_ += part.size();
            }
        }
        return source_state::more;  // the length says where it ends
    }
    void rewind() noexcept {
        next_ = 0;
        at_ = 0;
    }

private:
    std::vector<form_piece> pieces_;
    std::size_t next_ = 0;
    std::uint64_t at_ = 0;  // in that piece
};

}  // namespace

form_data::form_data() = default;
form_data::form_data(form_data&&) noexcept = default;
form_data& form_data::operator=(form_data&&) noexcept = default;
form_data::~form_data() = default;

void form_data::begin_part(std::string_view name, const std::string_view* filename,
                           std::string_view content_type) {
    std::string disposition = "form-data; name=\"" + escaped(name) + '"';
    if (filename != nullptr) disposition += "; filename=\"" + escaped(*filename) + '"';
    malformed_ = malformed_ || !is_field_value(disposition) || !is_field_value(content_type);
    std::string head = "\r\nContent-Disposition: " + disposition + "\r\n";
    if (filename != nullptr) head += "Content-Type: " + std::string(content_type) + "\r\n";
    pieces_.push_back({.bytes = head + "\r\n", .begins_part = true});
}

void form_data::add(std::string_view name, std::string value) {
    begin_part(name, nullptr, {});
    pieces_.push_back({.bytes = std::move(value)});
}
void form_data::add_file(std::string_view name, std::string_view filename, std::string content,
                         std::string_view content_type) {
    begin_part(name, &filename, content_type);
    pieces_.push_back({.bytes = std::move(content)});
}
result<void> form_data::add_file_from(std::string_view name, const std::string& path,
                                      std::string_view content_type, std::string_view filename) {
    auto file = detail::disk_file::open(path);
    if (!file) return file.error();
    if (filename.empty()) filename = std::string_view(path).substr(path.rfind('/') + 1);
    begin_part(name, &filename, content_type);
    pieces_.push_back(
        {.bytes = {}, .file = std::make_shared<const detail::disk_file>(*std::move(file))});
    return {};
}

result<client_request> make_request(method m, std::string url, form_data form) {
    if (form.malformed_)
        return error(errc::bad_argument, url + ": a control character in a name of the form");
    std::vector<form_piece> pieces = std::move(form.pieces_);
    const std::string boundary = boundary_for(pieces);
    bool first = true;
    bool on_disk = false;
    std::uint64_t length = 0;
    pieces.push_back({.bytes = "--\r\n", .begins_part = true});
    for (form_piece& p : pieces) {
        if (p.begins_part) p.bytes.insert(0, (first ? "--" : "\r\n--") + boundary);
        first = false;
        on_disk = on_disk || p.file != nullptr;
        length += p.size();
    }
    client_request r =
        make_request(m, std::move(url), {}, "multipart/form-data; boundary=" + boundary);
    if (on_disk) {
        const auto reader = std::make_shared<form_reader>(std::move(pieces));
        r.source.length = length;
        r.source.pull = [reader](buffer& out, std::size_t most) { return reader->pull(out, most); };
        r.source.rewind = [reader] { reader->rewind(); };
    } else {
        r.body.reserve(static_cast<std::size_t>(length));
        for (const form_piece& p : pieces) r.body += p.bytes;
    }
    return r;
}

}  // namespace wire::http
