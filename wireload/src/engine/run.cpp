#include "engine/run.hpp"

#include <utility>

#include "engine/run_kinds.hpp"

namespace wireload {

std::variant<run_result, std::string> run(const plan& p, process_watch* watch,
                                          const view_maker& make_view) {
    run_steps steps(p, watch, make_view);
    if (std::string problem = steps.start(); !problem.empty()) return problem;
    if (p.asked.ramp) {
        run_ramp(steps, *p.asked.ramp);
    } else if (p.asked.turns) {
        run_turns(steps, *p.asked.turns);
    } else if (p.asked.idle) {
        run_idle(steps);
    } else if (p.asked.open_loop) {
        run_open_loop(steps);
    } else {
        run_closed_loop(steps);
    }
    if (!steps.problem().empty()) return steps.problem();
    return steps.finish();
}

}  // namespace wireload
