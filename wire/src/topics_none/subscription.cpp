// Stands in for src/websocket/topics.cpp where wire is built without topics: there are no
// subscriptions.
#include "websocket/subscription.hpp"

namespace wire::ws::detail {

subscription::~subscription() = default;

}  // namespace wire::ws::detail
