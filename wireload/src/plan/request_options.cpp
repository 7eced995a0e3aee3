#include "plan/request_options.hpp"

#include <fmt/format.h>

#include "wire/proto/http_types.hpp"

namespace wireload {

std::string header_problem(std::string_view name, std::string_view value) {
    if (!wire::http::is_token(name)) return fmt::format("'{}' is not a header name", name);
    if (!wire::http::is_field_value(value))
        return fmt::format("'{}': the value holds a control character", name);
    for (const char* own : {"Content-Length", "Transfer-Encoding", "Connection", "Upgrade"}) {
        if (wire::http::equals_ignoring_case(name, own)) {
            return "wireload sets this field itself; leave it out (see --body and --no-keepalive)";
        }
    }
    return {};
}

std::string method_problem(std::string_view method) {
    if (!wire::http::is_token(method)) return "give a method such as GET or POST";
    if (method == "CONNECT")
        return "asks for a tunnel, which wireload does not use; give another method";
    return {};
}

}  // namespace wireload
