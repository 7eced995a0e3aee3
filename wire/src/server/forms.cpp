// Queries and forms: the parsers of proto, applied to a request.
#include "wire/server/forms.hpp"

#include "proto/char_tables.hpp"

namespace wire::http {

result<parameters> query(const request& r, const limits& l) {
    return parameters::parse(r.query(), l);
}

result<parameters> form(const request& r, const limits& l) {
    const std::string_view type = r.headers().find_only("Content-Type").value_or("");
    if (!equals_ignoring_case(detail::trim(type.substr(0, type.find(';'))),
                              "application/x-www-form-urlencoded")) {
        return errc::unsupported_media_type;
    }
    return parameters::parse(r.body(), l);
}

}  // namespace wire::http
