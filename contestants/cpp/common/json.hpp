// The JSON of the servers in `rest` and `ws.count`, by RapidJSON: the same calls for all, so that
// no figure of theirs differs by the JSON library. Values and stacks lie in buffers of the caller's
// stack, as RapidJSON's documentation advises for small messages, and go to the heap from there.
#pragma once

#include <rapidjson/document.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstddef>
#include <ctime>
#include <string_view>

namespace wirebench {

// Iterative: the recursive parser ends the process where a body is nested deeply enough.
inline constexpr unsigned json_flags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;

// Whether the whole text is one JSON value, by the parser that only reports what it meets.
inline bool is_json(std::string_view text) {
    rapidjson::MemoryStream stream(text.data(), text.size());
    rapidjson::BaseReaderHandler<> nobody;
    rapidjson::Reader reader;
    // It takes a zero byte for the end.
    return !reader.Parse<json_flags>(stream, nobody).IsError() && stream.Tell() == text.size();
}

// {"c":n} -> {"c":n,"ts":<seconds>}. False: not such a message, and `answer` is empty.
inline bool answer_count(std::string_view message, rapidjson::StringBuffer& answer) {
    using allocator = rapidjson::MemoryPoolAllocator<>;
    using utf8 = rapidjson::UTF8<>;
    constexpr std::size_t stack_bytes = 512;
    char values[1024], stacks[4 * stack_bytes];
    allocator of_values(values, sizeof values), of_stacks(stacks, sizeof stacks);

    answer.Clear();
    rapidjson::GenericDocument<utf8, allocator, allocator> question(&of_values, stack_bytes,
                                                                    &of_stacks);
    question.Parse<json_flags | rapidjson::kParseFullPrecisionFlag>(message.data(), message.size());
    if (question.HasParseError() || !question.IsObject()) return false;
    const auto count = question.FindMember("c");
    if (count == question.MemberEnd() || !count->value.IsNumber()) return false;

    rapidjson::Writer<rapidjson::StringBuffer, utf8, utf8, allocator> writer(answer, &of_stacks);
    writer.StartObject();
    writer.Key("c");
    count->value.Accept(writer);
    writer.Key("ts");
    writer.Int64(std::time(nullptr));
    writer.EndObject();
    return true;
}

inline std::string_view text_of(const rapidjson::StringBuffer& buffer) {
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace wirebench
