// Stands in for src/server/connection_file.cpp where wire is built without files: no response has
// one, so neither function is called.
#include "server/connection.hpp"

namespace wire::http::detail {

void connection::begin_file(exchange&, bool) {}
void connection::pump_file() {}

}  // namespace wire::http::detail
