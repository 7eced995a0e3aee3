// Opens and reads the files that are sent.
#include "disk_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace wire::http::detail {

namespace {

error failed(const std::string& path, const std::string& why) {
    return {errc::system_error, path + ": " + why};
}
std::string text_of(int number) { return std::generic_category().message(number); }

}  // namespace

result<disk_file> disk_file::open(const std::string& path) {
    // O_NONBLOCK: a named pipe would wait for a writer. It means nothing to a regular file.
    unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0) return failed(path, text_of(errno));
    struct stat about{};
    if (::fstat(fd.get(), &about) != 0) return failed(path, text_of(errno));
    if (!S_ISREG(about.st_mode)) return failed(path, "not a regular file");
    return disk_file(std::move(fd), path, static_cast<std::uint64_t>(about.st_size));
}

result<std::size_t> disk_file::read(std::uint64_t offset, std::size_t most, buffer& out) const {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(most, size_ - offset));
    const auto space = out.prepare(n);
    ssize_t got = 0;
    do {
        got = ::pread(fd_.get(), space.data(), n, static_cast<off_t>(offset));
    } while (got < 0 && errno == EINTR);
    if (got < 0) return failed(path_, text_of(errno));
    if (got == 0) return failed(path_, "has become shorter while it was sent");
    out.commit(static_cast<std::size_t>(got));
    return static_cast<std::size_t>(got);
}

}  // namespace wire::http::detail
