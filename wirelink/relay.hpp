// Carries packets between the two ends of the emulated link until it is told to stop.
#pragma once

#include "delay_line.hpp"
#include "lateness.hpp"
#include "recorder.hpp"

namespace wirelink {

// Makes the calling thread as punctual as the host allows: no timer slack and, where the process
// may, first-in-first-out scheduling and no sleeping cores until the process ends. A link does not
// wait behind programs. Returns whether it has real-time scheduling.
bool become_punctual();

// Moves packets in the calling thread until `stop` becomes readable. `server` and `client` are
// non-blocking descriptors that give and take one packet a call; `upstream` delays what goes to the
// server, `downstream` what goes to the client. `record` notes each packet as it is taken; null
// for none. Nothing is closed. Returns how late packets were given to their end. Throws
// std::system_error when the host has no timer for it, and std::runtime_error when a device is
// gone.
lateness relay(int server, int client, delay_line& upstream, delay_line& downstream, int stop,
               recorder* record = nullptr);

}  // namespace wirelink
