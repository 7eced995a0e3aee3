// Stands in for src/proto/zstd_packer.cpp where wire is built without libzstd.
#include "proto/body_packer.hpp"

namespace wire::http {

std::unique_ptr<body_packer> make_zstd_packer(int) { return nullptr; }

}  // namespace wire::http
