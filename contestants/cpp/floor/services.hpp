// The workloads of the server contract, one service each kind.
#pragma once

#include "event_loop.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace wirebench {

// GET /route_01 and /route_02.
std::unique_ptr<service> make_hello();

// GET /payload/{n}.
std::unique_ptr<service> make_payload();

// POST /test, GET /test/status, GET /test/labels/{label}. At most `slots` POSTs are in their delay
// at once, as if each held one of that many handler threads; the others wait their turn. One loop
// serves them all, so no slot stands idle while a request waits at another loop: N posts from P
// clients take N * delay * max(1, P / slots) / P.
std::unique_ptr<service> make_rest(std::int64_t delay_ns, std::size_t slots);

// Under broadcast each message goes to every connection. One that has not read so much that
// `most_unread` bytes wait for it misses messages.
enum class websocket_kind { echo, count, broadcast };
std::unique_ptr<service> make_websocket(websocket_kind kind);

}  // namespace wirebench
