// Forms to send: multipart/form-data (RFC 7578) with fields and files, from memory and from disk.
//
//     wire::http::form_data form;
//     form.add("title", "Holidays");
//     form.add_file("photo", "a.jpg", std::move(bytes), "image/jpeg");
//     if (auto added = form.add_file_from("film", "/home/me/b.mp4", "video/mp4"); !added) return;
//     auto request = wire::http::make_request(wire::http::method::post, url, std::move(form));
//     if (request) client.send(*std::move(request), done);
//
// Names are written as browsers do (WHATWG HTML, "multipart form data"): as they are, but CR, LF
// and '"' as %0D, %0A and %22. End no name in a backslash: readers differ about what it means, and
// wire's own refuses it. To read forms, see wire/proto/multipart.hpp.
#pragma once

#ifdef WIRE_WITHOUT_MULTIPART
#error "this wire was built without multipart/form-data: build it with -D WIRE_WITH_MULTIPART=ON"
#endif

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/client/reply.hpp"

namespace wire::http {

namespace detail {
struct form_piece;
}  // namespace detail

// A form's parts, in the order in which they are added. Movable. Not thread-safe.
class WIRE_EXPORT form_data {
public:
    // Without parts.
    form_data();
    form_data(form_data&&) noexcept;
    form_data& operator=(form_data&&) noexcept;
    ~form_data();

    // A field. Its value is sent as it is: browsers write the line ends of a text area as CRLF.
    void add(std::string_view name, std::string value);
    // A file whose content is in memory. `filename` is what the server is told.
    void add_file(std::string_view name, std::string_view filename, std::string content,
                  std::string_view content_type = "application/octet-stream");
    // A file on disk, which is opened now, and read, as many bytes as it has now, while it is sent.
    // The server is told `filename`, or without one the last element of the path. Reading waits for
    // the disk on the loop's thread, at most 64 KiB at a time. errc::system_error, with the path in
    // its message, where it cannot be opened or is no regular file; a file that has become shorter
    // when it is sent ends the request with the same.
    result<void> add_file_from(std::string_view name, const std::string& path,
                               std::string_view content_type = "application/octet-stream",
                               std::string_view filename = {});

private:
    friend result<client_request> make_request(method m, std::string url, form_data form);

    void begin_part(std::string_view name, const std::string_view* filename,
                    std::string_view content_type);

    std::vector<detail::form_piece> pieces_;
    bool malformed_ = false;
};

// A request with the form as its body, its Content-Type and its Content-Length. A form without
// files on disk is kept in memory; with them it is streamed from a body_source, which can be
// rewound. errc::bad_argument where a name, file name or content type holds control characters that
// cannot be sent.
WIRE_EXPORT result<client_request> make_request(method m, std::string url, form_data form);

}  // namespace wire::http
