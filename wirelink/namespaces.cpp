// Makes network namespaces and TUN devices by system calls, and says what would allow them.
#include "namespaces.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

namespace wirelink {
namespace {

// A container's root has often neither capability.
constexpr const char* what_allows_it =
    "run as root with CAP_SYS_ADMIN and CAP_NET_ADMIN (in a container: --cap-add), or allow user "
    "namespaces to this user";

[[noreturn]] void fail(const std::string& what, const std::string& remedy) {
    throw setup_error(what + ": " + std::strerror(errno) + "; " + remedy);
}

void write_file(const char* path, const std::string& text) {
    const int file = ::open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        const int error = errno;
        if (file >= 0) ::close(file);
        errno = error;
        fail(std::string("writing ") + path, what_allows_it);
    }
    ::close(file);
}

sockaddr ipv4(const std::string& text) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (::inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1) {
        throw setup_error("not an IPv4 address: " + text);
    }
    sockaddr out{};
    std::memcpy(&out, &address, sizeof(out));
    return out;
}

// Packets that wait until this process takes them: a burst of a whole window, where 500, the
// default, would drop the end of it on a link that loses nothing.
constexpr std::uint32_t device_queue_packets = 8192;

int open_tun(const std::string& device) {
    const int tun = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (tun < 0)
        fail("opening /dev/net/tun", "load the tun module and allow this user to open the device");
    ifreq request{};
    device.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (::ioctl(tun, TUNSETIFF, &request) < 0) {
        fail("creating the TUN device " + device, what_allows_it);
    }
    return tun;
}

// By rtnetlink(7): the ioctl for it asks for the host's own CAP_NET_ADMIN, which root in a user
// namespace does not have.
void set_queue(const std::string& device, std::uint32_t packets) {
    struct {
        nlmsghdr header;
        ifinfomsg link;
        rtattr attribute;
        std::uint32_t packets;
    } request{};
    static_assert(sizeof(request) == NLMSG_LENGTH(sizeof(ifinfomsg)) + RTA_LENGTH(sizeof(packets)));
    request.header = {.nlmsg_len = sizeof(request),
                      .nlmsg_type = RTM_NEWLINK,
                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
                      .nlmsg_seq = 1,
                      .nlmsg_pid = 0};
    request.link.ifi_index = static_cast<int>(::if_nametoindex(device.c_str()));
    request.attribute = {.rta_len = RTA_LENGTH(sizeof(packets)), .rta_type = IFLA_TXQLEN};
    request.packets = packets;
    struct {
        nlmsghdr header;
        nlmsgerr error;
    } answer{};
    const int control = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    const bool told = control >= 0 && ::send(control, &request, sizeof(request), 0) > 0 &&
                      ::recv(control, &answer, sizeof(answer), 0) >= ssize_t{sizeof(answer)};
    const int error = told ? -answer.error.error : errno;
    if (control >= 0) ::close(control);
    errno = error;
    if (!told || error != 0) fail("setting the queue of " + device, what_allows_it);
}

pid_t start_holder() {
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) fail("starting a process to hold the namespace", "check the limit on processes");
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(0);
        // Ctrl-C and timeout(1) tell the whole group. The parent still asks for its counters then,
        // and ends this process.
        ::signal(SIGINT, SIG_IGN);
        ::signal(SIGTERM, SIG_IGN);
        sigset_t none;
        sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        for (;;) ::pause();
    }
    return child;
}

}  // namespace

void become_root_in_user_namespace() {
    if (::geteuid() == 0) return;
    const auto user = std::to_string(::geteuid());
    const auto group = std::to_string(::getegid());
    if (::unshare(CLONE_NEWUSER) < 0) {
        fail("creating a user namespace", "run as root, or set kernel.unprivileged_userns_clone=1");
    }
    // setgroups must be denied before an unprivileged process may map its group:
    // user_namespaces(7).
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", "0 " + user + " 1");
    write_file("/proc/self/gid_map", "0 " + group + " 1");
}

// TX drops are the twelfth number behind the name: proc(5), net/dev.
std::optional<std::uint64_t> parse_drops(std::istream& devices, const std::string& device) {
    constexpr int before_drops = 11;
    for (std::string line; std::getline(devices, line);) {
        std::istringstream words(line);
        std::string word;
        if (!(words >> word) || word != device + ":") continue;
        for (int i = 0; i < before_drops; ++i) words >> word;
        std::uint64_t drops = 0;
        if (words >> drops) return drops;
    }
    return std::nullopt;
}

void configure(const std::string& device, const std::string& address, const char* netmask) {
    const int control = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0)
        fail("opening a socket to configure " + device, "check the limits of this process");
    ifreq request{};
    device.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_addr = ipv4(address);
    if (::ioctl(control, SIOCSIFADDR, &request) < 0)
        fail("setting the address of " + device, what_allows_it);
    request.ifr_addr = ipv4(netmask);
    if (::ioctl(control, SIOCSIFNETMASK, &request) < 0)
        fail("setting the netmask of " + device, what_allows_it);
    if (::ioctl(control, SIOCGIFFLAGS, &request) < 0)
        fail("reading the flags of " + device, what_allows_it);
    request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
    if (::ioctl(control, SIOCSIFFLAGS, &request) < 0) fail("bringing up " + device, what_allows_it);
    ::close(control);
}

endpoint::endpoint(const std::string& own_address) : address(own_address) {
    if (::unshare(CLONE_NEWNET) < 0) {
        fail("creating a network namespace", what_allows_it);
    }
    configure("lo", "127.0.0.1", "255.0.0.0");
    holder = start_holder();
}

void endpoint::enter() const {
    const std::string path = "/proc/" + std::to_string(holder) + "/ns/net";
    const int name = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (name < 0) fail("opening " + path, "mount /proc");
    const int entered = ::setns(name, CLONE_NEWNET);
    ::close(name);
    if (entered < 0) fail("entering " + path, what_allows_it);
}

void endpoint::add_tun(const std::string& device) {
    tun = open_tun(device);
    set_queue(device, device_queue_packets);
    configure(device, address, "255.255.255.0");
}

std::optional<std::uint64_t> endpoint::missed(const std::string& device) const {
    enter();
    std::ifstream devices("/proc/thread-self/net/dev");
    return parse_drops(devices, device);
}

endpoint::~endpoint() {
    if (holder > 0) {
        ::kill(holder, SIGKILL);
        ::waitpid(holder, nullptr, 0);
    }
    if (tun >= 0) ::close(tun);
}

}  // namespace wirelink
