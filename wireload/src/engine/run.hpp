// A whole run: open, warm up, measure, stop; or a ramp in rounds.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "measure/process_watch.hpp"
#include "measure/progress_view.hpp"
#include "measure/run_result.hpp"
#include "measure/series.hpp"
#include "plan/plan.hpp"

namespace wireload {

// Makes the view of a run that begins; called once, before its threads are started.
using view_maker = std::function<std::unique_ptr<progress_view>(series_collector&)>;

// Runs to the end. `watch` may be null; without `make_view` nothing is shown meanwhile. The string
// says why the run could not begin.
std::variant<run_result, std::string> run(const plan& p, process_watch* watch,
                                          const view_maker& make_view = {});

}  // namespace wireload
