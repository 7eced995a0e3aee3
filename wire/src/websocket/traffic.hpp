// Messages of all sessions of one loop, as far as their owner wants them counted.
#pragma once

#include "base/counter.hpp"

namespace wire::ws::detail {

struct traffic {
    wire::detail::counter received;
    wire::detail::counter sent;
};

}  // namespace wire::ws::detail
