// Stands in for src/proto/zstd_unpacker.cpp where wire is built without libzstd.
#include "proto/body_unpacker.hpp"

namespace wire::http {

bool zstd_available() noexcept { return false; }
std::unique_ptr<body_unpacker> make_zstd_unpacker(int) { return nullptr; }

}  // namespace wire::http
