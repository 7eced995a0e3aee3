// The signals with which a user ends a run.
#pragma once

#include <signal.h>

namespace wireload {

// SIGINT and SIGTERM.
inline sigset_t ending_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

}  // namespace wireload
