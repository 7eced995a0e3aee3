// The interface to a view of a run in progress. Called on the main thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/clock.hpp"
#include "measure/series.hpp"

namespace wireload {

class progress_view {
public:
    virtual ~progress_view() = default;

    // A part of the run begins: "connecting", "warming up", "measuring". Either end may be unknown
    // (never, 0).
    virtual void begin(std::string_view phase, nanos start, nanos end, std::uint64_t count) = 0;
    virtual nanos next_draw() const = 0;
    // Draws when it is time to.
    virtual void tick(nanos now) = 0;
};

// Makes the view of a run that begins; called once, before its threads are started.
using view_maker = std::function<std::unique_ptr<progress_view>(series_collector&)>;

}  // namespace wireload
