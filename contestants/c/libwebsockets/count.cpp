extern "C" {
#include "count.h"
}

#include "json.hpp"

const char *reply_to_count(const char *message, size_t size, size_t *answer_size) {
    static rapidjson::StringBuffer answer;
    if (!wirebench::answer_count({message, size}, answer)) return nullptr;
    *answer_size = answer.GetSize();
    return answer.GetString();
}
