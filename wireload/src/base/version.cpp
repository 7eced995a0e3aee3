#include "base/version.hpp"

namespace wireload {

std::string_view version_text() { return WIRELOAD_VERSION; }

}  // namespace wireload
