// When a load begins whose connections are open.
#pragma once

#include <optional>

#include "base/clock.hpp"

namespace wireload {

struct start_options {
    // Of the steady clock. Absent: standard input tells, once the connections are open.
    std::optional<nanos> at;
};

}  // namespace wireload
