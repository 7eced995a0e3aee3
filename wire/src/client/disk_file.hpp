// A file on disk that is sent as a body, or as a part of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "wire/base/buffer.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/socket.hpp"

namespace wire::http::detail {

// Has the size that it was opened with. Reading does not move anything: several may read it.
class disk_file {
public:
    // errc::system_error, with the path, where it cannot be opened or is no regular file.
    static result<disk_file> open(const std::string& path);

    std::uint64_t size() const noexcept { return size_; }
    // Appends the next bytes from `offset`, at most `most` and at least one. errc::system_error
    // where they cannot be read, also because the file has become shorter. Precondition: offset is
    // less than size().
    result<std::size_t> read(std::uint64_t offset, std::size_t most, buffer& out) const;

private:
    disk_file(unique_fd fd, std::string path, std::uint64_t size) noexcept
        : fd_(std::move(fd)), path_(std::move(path)), size_(size) {}

    unique_fd fd_;
    std::string path_;
    std::uint64_t size_;
};

}  // namespace wire::http::detail
