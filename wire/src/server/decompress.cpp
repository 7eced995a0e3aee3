// Middleware that decodes the bodies of requests: whole ones here, those in pieces by their
// body_source.
#include "wire/server/decompress.hpp"

#include <limits>

#include "exchange.hpp"
#include "proto/body_coding.hpp"
#include "proto/char_tables.hpp"

namespace wire::http {

namespace {

// The one coding of a body; "" for none. Codings that were applied one after another stay a list,
// which names none (RFC 9110 section 8.4).
std::string coding_of(const header_list& fields) {
    std::string coding;
    for (const header& field : fields) {
        if (!detail::name_is(field.name, "content-encoding")) continue;
        if (!coding.empty()) coding += ',';
        coding += detail::trim(field.value);
    }
    if (equals_ignoring_case(coding, "identity")) coding.clear();
    return coding;
}

errc decode(body_decoder& by, std::string_view body, std::string& to) {
    buffer plain;
    while (!body.empty() || by.has_more()) {
        if (const errc failed = by.add(body, std::numeric_limits<std::size_t>::max(), plain);
            failed != errc::none)
            return failed;
    }
    if (const errc failed = by.finish(); failed != errc::none) return failed;
    to.assign(plain.view());
    return errc::none;
}

void refuse(response& res, int status, std::string_view text) {
    detail::response_access::of(res.remove_header("Content-Type")).say(status, text);
    res.send();
}

void edit(response& res) {
    detail::exchange& e = detail::response_access::of(res);
    if (e.is_decoded || e.req.head_.framing == framing::none) return;
    const std::string coding = coding_of(e.req.headers());
    if (coding.empty()) return;
    e.is_decoded = true;
    if (e.in != nullptr && e.in->wanted) {
        refuse(res, 500, "decompress_requests() after the body was read\n");
        return;
    }
    const bool in_pieces = e.in != nullptr && !e.in->over;
    limits bounds = e.handle->limits;
    if (in_pieces) bounds.max_body_bytes = e.in->max_bytes;
    auto by = body_decoder::of(coding, bounds, request_window_bits);
    if (!by) {
        std::string known;
        append_decoded_codings(known);
        res.header("Accept-Encoding", known.empty() ? "identity" : known);
        refuse(res, 415, "unsupported content coding\n");
    } else if (in_pieces) {
        e.in->decode_by(*std::move(by));
    } else {
        std::string& body = e.in != nullptr ? e.in->whole : e.req.body_;
        if (const errc failed = decode(*by, body, body); failed != errc::none)
            refuse(res, status_for(failed), std::string(to_string(failed)) + "\n");
    }
}

}  // namespace

router::editor decompress_requests() { return edit; }

}  // namespace wire::http
