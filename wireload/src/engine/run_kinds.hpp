// The five kinds of run. Each is given steps that were started, and leaves its result in out().
#pragma once

#include "engine/run_steps.hpp"

namespace wireload {

void run_closed_loop(run_steps& steps);
void run_open_loop(run_steps& steps);
// Connections are held, and nothing is sent.
void run_idle(run_steps& steps);
void run_ramp(run_steps& steps, const ramp_options& ramp);
void run_turns(run_steps& steps, const turn_options& turns);

}  // namespace wireload
