// Whether a whole text is JSON, by the JSON library of the C++ contestants.
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool is_json(const char *text, size_t size);
