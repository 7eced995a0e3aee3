// Keeps idle cores from sleeping while an open loop runs, where that is allowed. A core that sleeps
// wakes up late, and more so in a virtual machine: that would be the lateness of most requests.
#pragma once

#include "wire/loop/socket.hpp"

namespace wireload {

class awake_cores {
public:
    // A request for 0 us of PM QoS latency, as cyclictest makes it; needs write access to the
    // device (Documentation/admin-guide/pm/cpuidle.rst). It ends with this object or the process.
    awake_cores();

    bool held() const { return static_cast<bool>(device_); }

private:
    wire::unique_fd device_;
};

}  // namespace wireload
