// Explains each kind of error to somebody who sees it for the first time.
#pragma once

#include <string_view>

#include "measure/error_kind.hpp"

namespace wireload {

std::string_view advice_on(error_kind kind);

}  // namespace wireload
