// A whole run: open, warm up, measure, stop; or a ramp in rounds.
//
// The main thread runs run(), draws the view and watches the server. The load is sent by one thread
// for each worker (worker.hpp), which takes its orders from here and notifies `control`.
//
//   --ramp-rounds -> run_ramp.cpp     --rate and the like -> run_open_loop.cpp
//   --idle        -> run_idle.cpp     --turns             -> run_turns.cpp
//   everything else -> run_closed_loop.cpp
#pragma once

#include <string>
#include <variant>

#include "measure/process_watch.hpp"
#include "measure/progress_view.hpp"
#include "measure/run_result.hpp"
#include "plan/plan.hpp"

namespace wireload {

// Runs to the end. `watch` may be null; without `make_view` nothing is shown meanwhile. The string
// says why the run could not begin.
std::variant<run_result, std::string> run(const plan& p, process_watch* watch,
                                          const view_maker& make_view = {});

}  // namespace wireload
