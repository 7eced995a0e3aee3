// Reads a request's query, form and cookies.
//
//     const auto form = http::form(res.request());
//     if (!form) return res.status(http::status_for(form.error().code)).send("not like that\n");
//     const auto name = form->get("name");
//
// `l` bounds each result (max_parameters, max_cookies, max_parts ...): give the server's own limits
// where they differ from the defaults. Each call parses anew: keep the result rather than ask
// twice. A failure is the client's fault: answer 400, 413, 415 or 431, as status_for() of the error
// says.
#pragma once

#include <string_view>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/parts.hpp"
#include "wire/proto/parameters.hpp"
#include "wire/server/request.hpp"
#ifndef WIRE_WITHOUT_COOKIES
#include "wire/proto/cookies.hpp"
#endif
#ifndef WIRE_WITHOUT_MULTIPART
#include "wire/proto/multipart.hpp"
#endif

namespace wire::http {

class cookie_list;
struct form_part;

// The parameters of the request's query, decoded; none when there is no query. Errors:
// bad_parameter, too_many_parameters.
WIRE_EXPORT result<parameters> query(const request& r, const limits& l = {});

// The body, which must be there as a whole, as application/x-www-form-urlencoded, decoded. Errors:
// as query(), and unsupported_media_type when Content-Type says something else, or is there twice.
WIRE_EXPORT result<parameters> form(const request& r, const limits& l = {});

// The body as multipart/form-data. The parts are views into it, and live as long as the request.
// multipart_parser reads a body that comes in pieces. Errors: unsupported_media_type,
// bad_multipart, too_many_parts, part_too_large, and for the head of a part header_too_large,
// too_many_headers and those of field lines.
WIRE_EXPORT WIRE_NEEDS_MULTIPART result<std::vector<form_part>> multipart_form(
    const request& r, const limits& l = {});

// The cookies of all Cookie fields, as views into the request. Errors: too_many_cookies.
WIRE_EXPORT WIRE_NEEDS_COOKIES result<cookie_list> cookies(const request& r, const limits& l = {});

}  // namespace wire::http
