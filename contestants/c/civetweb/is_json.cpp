extern "C" {
#include "is_json.h"
}

#include "json.hpp"

bool is_json(const char *text, size_t size) { return wirebench::is_json({text, size}); }
