// The version of this wireload.
#pragma once

#include <string_view>

namespace wireload {

std::string_view version_text();

}  // namespace wireload
