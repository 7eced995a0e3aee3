// Fields that follow a chunked body (RFC 9110 section 6.5): what became known only while the body
// was made, such as a checksum.
//
// They are kept apart from the fields of the head, and may not replace them: whoever passes a
// message on may drop them.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "wire/base/export.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

// Whether a field of that name may stand in a trailer: not one that frames or routes the message,
// authenticates it, asks for conditions, sets cookies, or says how to read the body (RFC 9110
// section 6.5.1). `name` need not be a token: those that are none may not.
WIRE_EXPORT bool may_be_trailer(std::string_view name) noexcept;

// The trailer of one message as it was received. Owns its bytes: views die with it, and survive
// moves.
class WIRE_EXPORT trailer_list {
public:
    // Adds what came with event::trailer, "name: value". Fields that may not be there are dropped.
    void add(std::string_view line);
    // In the order in which they came.
    const header_list& fields() const noexcept { return fields_; }

private:
    std::deque<std::string> lines_;  // where views stay valid
    header_list fields_;
};

}  // namespace wire::http
