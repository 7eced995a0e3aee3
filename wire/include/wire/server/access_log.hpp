// An access log: server_options::on_finished is called with an access_record for each request, and
// two functions here make the usual log lines of it.
//
//     options.on_finished = [&file](const http::access_record& r) {
//         file.write(http::combined_log(r) + "\n");
//     };
//
// The call is made on the loop's thread, with several loops from several threads at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "wire/base/export.hpp"
#include "wire/loop/address.hpp"
#include "wire/server/request.hpp"

namespace wire::http {

// A request whose response has been handed over for sending, or which has been given up; one that
// has become a WebSocket or a tunnel when that has ended. Valid during the call.
struct access_record {
    // Null when no whole head had come. Its body may be in use by others: do not ask for it.
    const http::request* request = nullptr;
    // 101 for a WebSocket; 0 when the connection ended before there was a response.
    int status = 0;
    // Bytes of the head, and of the body as far as it came, without chunk framing; of a WebSocket
    // all frames.
    std::uint64_t bytes_in = 0;
    // Bytes of the response as given to the connection, of a WebSocket as far as the kernel took
    // them, before TLS, and those of them that are its head, with those of early_hints() before it.
    // The peer need not have received them.
    std::uint64_t bytes_out = 0;
    std::uint64_t head_bytes_out = 0;
    // Since the request's head was complete.
    std::chrono::nanoseconds duration{};
    // The other end of the connection: request::peer().
    address peer;
    // The moment of the call.
    std::chrono::system_clock::time_point finished;
};

// A line of NCSA's common log format, without its end: `127.0.0.1 - - [06/Nov/1994:08:49:37 +0000]
// "GET / HTTP/1.1" 200 5`. It begins with request::client_address(), which is the peer's unless
// server_options::forwarded_fields has trusted proxies believed; the peer's where there is no
// request. Quotes, backslashes and bytes outside printable ASCII are escaped as
// Apache does (\" \\ \x0a): a peer cannot forge a line. The time is UTC.
WIRE_EXPORT std::string common_log(const access_record& r);
// The same with Referer and User-Agent: Apache's and nginx's combined log format.
WIRE_EXPORT std::string combined_log(const access_record& r);

}  // namespace wire::http
