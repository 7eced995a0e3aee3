// Time limits that users give, made safe to add to a moment.
#pragma once

#include "wire/base/limits.hpp"
#include "wire/loop/clock.hpp"

namespace wire::detail {

[[gnu::cold]] inline void cap_time_limits(limits& l) noexcept {
    for (std::chrono::milliseconds* const limit :
         {&l.header_timeout, &l.body_timeout, &l.body_rate_grace, &l.message_rate_grace,
          &l.idle_timeout, &l.write_timeout, &l.send_rate_grace, &l.handler_timeout,
          &l.close_timeout}) {
        *limit = capped(*limit);
    }
}

}  // namespace wire::detail
