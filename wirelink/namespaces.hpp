// The two ends of the emulated link: two network namespaces, reached by name through /proc, and how
// their devices are made.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <iosfwd>
#include <optional>
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

// Gives the device of the current namespace its address and brings it up.
void configure(const std::string& device, const std::string& address, const char* netmask);

// How many packets the device dropped that it was to send, from the text of /proc/net/dev; nothing
// where that has no such device.
std::optional<std::uint64_t> parse_drops(std::istream& devices, const std::string& device);

// One end: a namespace of its own, with a loopback device. The holder is a child that does nothing
// but keep the namespace open under /proc/<holder>/ns/net; it dies with this process.
struct endpoint {
    int tun = -1;
    pid_t holder = -1;
    std::string address;

    // Makes the namespace; the calling thread is in it afterwards.
    explicit endpoint(const std::string& own_address);
    ~endpoint();
    endpoint(const endpoint&) = delete;
    endpoint& operator=(const endpoint&) = delete;

    // Moves the calling thread into this namespace.
    void enter() const;
    // Makes a TUN device with the address of this end, in the namespace of the calling thread.
    // `tun` then reads and writes whole IP packets, without blocking.
    void add_tun(const std::string& device);
    // How many packets of this end found that device's queue full, since nobody read as fast;
    // nothing where the kernel does not say. Moves the calling thread into this namespace.
    std::optional<std::uint64_t> missed(const std::string& device) const;
};

}  // namespace wirelink
