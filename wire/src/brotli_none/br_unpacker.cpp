// Stands in for src/proto/br_unpacker.cpp where wire is built without brotli.
#include "proto/body_unpacker.hpp"

namespace wire::http {

bool brotli_available() noexcept { return false; }
std::unique_ptr<body_unpacker> make_br_unpacker() { return nullptr; }

}  // namespace wire::http
