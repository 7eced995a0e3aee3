// A request's body as multipart/form-data.
#include "wire/server/forms.hpp"

namespace wire::http {

result<std::vector<form_part>> multipart_form(const request& r, const limits& l) {
    return parse_multipart(r.headers().find_only("Content-Type").value_or(""), r.body(), l);
}

}  // namespace wire::http
