// --print request: what would be sent, without sending it.
#pragma once

#include <string>

#include "plan/plan.hpp"

namespace wireload {

// The bytes of each request of the run, one after another, with the values that the first
// connection's first request has. Of WebSocket the opening handshake and the frame of the first
// message; its random keys are those of no connection in particular.
std::string request_bytes(const plan& p);

// For a terminal: text stays, line ends too, and all other bytes are escaped as in C.
std::string for_terminal(std::string_view bytes);

}  // namespace wireload
