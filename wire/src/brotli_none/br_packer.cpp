// Stands in for src/proto/br_packer.cpp where wire is built without brotli.
#include "proto/body_packer.hpp"

namespace wire::http {

std::unique_ptr<body_packer> make_br_packer(int) { return nullptr; }

}  // namespace wire::http
