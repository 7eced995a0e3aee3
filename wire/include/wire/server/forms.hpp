// What handlers read out of a request: its query, its form, its cookies.
//
// `l` bounds what is taken (max_parameters, max_cookies, max_parts ...): give the server's own
// limits where they differ from the defaults. What fails is the client's fault: answer 400, 413 or
// 415 as status_for() of the error says.
#pragma once

#include <string_view>
#include <vector>

#include "wire/proto/cookies.hpp"
#include "wire/proto/multipart.hpp"
#include "wire/proto/parameters.hpp"
#include "wire/server/request.hpp"

namespace wire::http {

result<parameters> query(const request& r, const limits& l = {});

// The body, which must be there as a whole, as application/x-www-form-urlencoded;
// unsupported_media_type when it is something else.
result<parameters> form(const request& r, const limits& l = {});

// The body as multipart/form-data; the parts' data are views into it. (multipart_parser reads one
// that comes in pieces.)
result<std::vector<form_part>> multipart_form(const request& r, const limits& l = {});

// Views into the request's fields.
result<cookie_list> cookies(const request& r, const limits& l = {});

}  // namespace wire::http
