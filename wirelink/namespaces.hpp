// The two ends of the emulated link: two network namespaces, each with one TUN device, reached by
// name through /proc.
#pragma once

#include <sys/types.h>
#include <stdexcept>
#include <string>

namespace wirelink {

// Says what could not be set up, and what would allow it.
struct setup_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Detaches the process into a user namespace of its own in which it is root, unless it is root
// already.
void become_root_in_user_namespace();

// One end. The descriptor reads and writes whole IP packets, without blocking. The holder is a
// child that does nothing but keep the namespace open under /proc/<holder>/ns/net; it dies with
// this process.
struct endpoint {
    int tun = -1;
    pid_t holder = -1;
    std::string address;

    endpoint(const std::string& own_address, const std::string& device);
    ~endpoint();
    endpoint(const endpoint&) = delete;
    endpoint& operator=(const endpoint&) = delete;
};

}  // namespace wirelink
