// Counts of the messages of one loop's sessions, kept where the server has metrics.
#pragma once

#include "base/counter.hpp"

namespace wire::ws::detail {

struct traffic {
    wire::detail::counter received;
    wire::detail::counter sent;
};

}  // namespace wire::ws::detail
