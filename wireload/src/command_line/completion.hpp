// Completion scripts for shells, from the table of options.
#pragma once

#include <string>
#include <string_view>

namespace wireload {

// `shell` is bash, zsh or fish.
std::string completion_script(std::string_view shell);

}  // namespace wireload
