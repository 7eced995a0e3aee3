// Unix sockets: their names, a stale file's removal, and the permissions of a new one.
#include "wire/loop/unix_socket.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

namespace wire {

namespace {

struct unix_name {
    sockaddr_un raw{};
    socklen_t size = 0;

    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&raw); }
};

result<unix_name> name_of(std::string_view path) {
    const auto bad = [&](std::string_view why) {
        return error(errc::bad_argument,
                     "Unix socket \"" + std::string(path) + "\": " + std::string(why));
    };
    if (path.empty() || path == "@") return bad("the path is empty");
    if (path.find('\0') != std::string_view::npos) return bad("the path holds NUL");
    unix_name out;
    if (path.size() >= sizeof out.raw.sun_path) return bad("the path is longer than 107 bytes");
    out.raw.sun_family = AF_UNIX;
    std::memcpy(out.raw.sun_path, path.data(), path.size());
    out.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    if (path.front() == '@') {
        out.raw.sun_path[0] = '\0';  // an abstract name, of which every byte counts
    } else {
        ++out.size;
    }
    return out;
}

result<unique_fd> new_socket() {
    unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return system_failure(errno, "cannot open a Unix socket");
    return fd;
}

// Removes what an earlier process left. False, with errno, when somebody uses it.
bool remove_stale(const unix_name& at) noexcept {
    struct stat before{};
    if (::lstat(at.raw.sun_path, &before) != 0) return errno == ENOENT;
    errno = EADDRINUSE;
    if (!S_ISSOCK(before.st_mode)) return false;
    const unique_fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe) return false;
    // A full queue (EAGAIN) is somebody's, and a socket that we may not connect to may be.
    if (::connect(probe.get(), at.get(), at.size) == 0 || errno != ECONNREFUSED) {
        errno = EADDRINUSE;
        return false;
    }
    struct stat now{};
    if (::lstat(at.raw.sun_path, &now) != 0) return errno == ENOENT;
    if (now.st_dev != before.st_dev || now.st_ino != before.st_ino) {  // another was faster
        errno = EADDRINUSE;
        return false;
    }
    return ::unlink(at.raw.sun_path) == 0 || errno == ENOENT;
}

// Between bind() and listen() a socket looks like one that was left: whoever starts in the same
// folder waits until it is there. Not for ever, as anybody who may read the folder may lock it.
class folder_lock {
public:
    explicit folder_lock(std::string_view path) {
        if (path.front() == '@') return;
        const std::size_t slash = path.rfind('/');
        const std::string folder = slash == std::string_view::npos
                                       ? std::string(".")
                                       : std::string(path.substr(0, slash + 1));
        fd_ = unique_fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
        for (int tries = 1000; tries > 0 && fd_; --tries) {
            if (::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
            ::nanosleep(&pause, nullptr);
        }
    }

private:
    unique_fd fd_;
};

bool bind_to(int fd, const unix_name& at) noexcept {
    if (::bind(fd, at.get(), at.size) == 0) return true;
    if (errno != EADDRINUSE || at.raw.sun_path[0] == '\0') return false;
    return remove_stale(at) && ::bind(fd, at.get(), at.size) == 0;
}

// The path of the same file after a chdir(), too.
std::string absolute(std::string path) {
    if (path.front() == '/') return path;
    char* const here = ::getcwd(nullptr, 0);
    if (here != nullptr) path = std::string(here) + "/" + path;
    std::free(here);
    return path;
}

}  // namespace

socket_file::socket_file(std::string path) {
    struct stat now{};
    if (::lstat(path.c_str(), &now) != 0) return;
    path_ = absolute(std::move(path));
    device_ = now.st_dev;
    number_ = now.st_ino;
}

socket_file::socket_file(socket_file&& other) noexcept
    : path_(std::exchange(other.path_, {})), device_(other.device_), number_(other.number_) {}

socket_file& socket_file::operator=(socket_file&& other) noexcept {
    if (this == &other) return *this;
    remove();
    path_ = std::exchange(other.path_, {});
    device_ = other.device_;
    number_ = other.number_;
    return *this;
}

void socket_file::remove() noexcept {
    if (path_.empty()) return;
    struct stat now{};
    if (::lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == number_)
        ::unlink(path_.c_str());
    path_.clear();
}

result<unix_listening> listen_unix(std::string_view path, const unix_listen_options& options) {
    const auto at = name_of(path);
    if (!at) return at.error();
    auto fd = new_socket();
    if (!fd) return fd.error();
    const std::string where = "cannot listen on unix:" + std::string(path);
    const folder_lock starting(path);
    // Linux makes the file with the socket's own permissions, less the umask: never wider.
    if (::fchmod(fd->get(), options.mode) != 0 || !bind_to(fd->get(), *at))
        return system_failure(errno, where);
    unix_listening out;
    if (path.front() != '@') {
        out.file = socket_file(std::string(path));
        // What the umask took. A link that somebody put there is not followed.
        // Without /proc the C library cannot do that: often there is nothing to do.
        struct stat made{};
        if (::lstat(at->raw.sun_path, &made) != 0 || (made.st_mode & 07777) != options.mode) {
            if (::fchmodat(AT_FDCWD, at->raw.sun_path, options.mode, AT_SYMLINK_NOFOLLOW) != 0)
                return system_failure(errno, where + ": permissions");
        }
    }
    if (::listen(fd->get(), options.backlog) != 0) return system_failure(errno, where);
    out.socket = *std::move(fd);
    return out;
}

result<unique_fd> connect_unix(std::string_view path) {
    const auto to = name_of(path);
    if (!to) return to.error();
    auto fd = new_socket();
    if (!fd) return fd;
    if (::connect(fd->get(), to->get(), to->size) == 0) return fd;
    const int number = errno;
    error e = system_failure(number, "cannot connect to unix:" + std::string(path));
    if (number == ENOENT) e.code = errc::refused;
    if (number == EAGAIN) e.code = errc::queue_full;
    return e;
}

}  // namespace wire
