// The phrase of each errc, and the errc of each errno.
#include "wire/base/result.hpp"

#include <cerrno>
#include <system_error>

namespace wire {

std::string_view to_string(errc code) noexcept {
    switch (code) {
    case errc::none: return "no error";
    case errc::refused: return "connection refused";
    case errc::reset: return "connection reset by the peer";
    case errc::closed_early: return "connection closed in the middle of a message";
    case errc::timed_out: return "timed out";
    case errc::unreachable: return "no route to the host";
    case errc::address_in_use: return "address already in use";
    case errc::not_resolved: return "the name has no address";
    case errc::system_error: return "system call failed";
    case errc::stopped: return "stopping";
    case errc::cancelled: return "cancelled";
    case errc::queue_full: return "too many requests are waiting";
    case errc::proxy_failed: return "the proxy refused";
    case errc::bad_argument: return "bad argument";
    case errc::bad_request_line: return "malformed request line";
    case errc::bad_status_line: return "malformed status line";
    case errc::bad_version: return "unsupported HTTP version";
    case errc::bad_target: return "malformed request target";
    case errc::bad_line_end: return "a line does not end in CRLF";
    case errc::bad_header_name: return "malformed field name";
    case errc::bad_header_value: return "control character in a field value";
    case errc::folded_header: return "folded field line";
    case errc::bad_host: return "missing, repeated or malformed Host";
    case errc::bad_content_length: return "malformed Content-Length";
    case errc::conflicting_length: return "more than one message length";
    case errc::bad_transfer_encoding: return "malformed Transfer-Encoding";
    case errc::unknown_transfer_encoding: return "unknown transfer coding";
    case errc::bad_chunk: return "malformed chunk";
    case errc::header_too_large: return "header too large";
    case errc::too_many_headers: return "too many header fields";
    case errc::uri_too_long: return "request target too long";
    case errc::body_too_large: return "body too large";
    case errc::unsupported_method: return "unsupported method";
    case errc::insecure_request: return "https resource asked for without TLS";
    case errc::unknown_expectation: return "unknown expectation";
    case errc::chunk_extension_too_large: return "chunk extensions too large";
    case errc::bad_url: return "malformed URL";
    case errc::bad_parameter: return "malformed percent-encoding";
    case errc::too_many_parameters: return "too many parameters";
    case errc::bad_cookie: return "malformed cookie";
    case errc::too_many_cookies: return "too many cookies";
    case errc::bad_multipart: return "malformed multipart body";
    case errc::too_many_parts: return "too many parts";
    case errc::part_too_large: return "part too large";
    case errc::unsupported_media_type: return "unsupported media type";
    case errc::bad_redirect: return "redirect not followed";
    case errc::too_many_redirects: return "too many redirects";
    case errc::bad_handshake: return "WebSocket handshake failed";
    case errc::bad_frame: return "malformed WebSocket frame";
    case errc::bad_close_code: return "bad WebSocket close code";
    case errc::bad_utf8: return "text that is not UTF-8";
    case errc::message_too_large: return "WebSocket message too large";
    case errc::too_many_topics: return "subscribed to too many topics";
    case errc::tls_failed: return "TLS failed";
    case errc::truncated: return "connection ended without the peer's notice";
    case errc::no_compression: return "built without zlib";
    case errc::bad_compressed_data: return "malformed compressed data";
    case errc::expands_too_much: return "compressed data expands too much";
    }
    return "unknown error";
}

errc from_errno(int number) noexcept {
    switch (number) {
    case 0: return errc::none;
    case ECONNREFUSED: return errc::refused;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE: return errc::reset;
    case ETIMEDOUT: return errc::timed_out;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN: return errc::unreachable;
    case EADDRINUSE:
    case EADDRNOTAVAIL: return errc::address_in_use;
    default: return errc::system_error;
    }
}

error system_failure(int number, std::string_view what) {
    std::string text(what);
    text += ": ";
    text += std::system_category().message(number);
    return {from_errno(number), std::move(text)};
}

}  // namespace wire
