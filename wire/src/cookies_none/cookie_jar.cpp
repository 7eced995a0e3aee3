// Stands in for src/client/cookie_jar.cpp where wire is built without cookies: there is no jar, so
// neither function is called.
#include "wire/client/cookie_jar.hpp"

namespace wire::http {

void cookie_jar::store_all(const url&, const header_list&, std::int64_t) {}
std::string cookie_jar::header(const url&, std::int64_t) { return {}; }

}  // namespace wire::http
