// The help in two lengths and the manual page, from one text and the
// table of options.
#pragma once

#include <string>

namespace wireload {

std::string help_text();        // --help: all of it, 80 columns
std::string short_help_text();  // -h: one screen
std::string manual_page();      // roff with the man macros

}  // namespace wireload
