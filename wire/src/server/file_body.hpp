// Parts of a file that are being sent to a peer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/loop/socket.hpp"

namespace wire::http::detail {

class connection;

struct file_body {
    struct part {
        std::string before;  // sent ahead of it
        std::uint64_t offset = 0;
        std::uint64_t length = 0;
    };

    std::uint64_t size() const noexcept {
        std::uint64_t n = after.size();
        for (const part& p : parts) n += p.before.size() + p.length;
        return n;
    }

    unique_fd file;
    std::vector<part> parts;
    std::string after;         // sent when all parts have been
    std::size_t next = 0;      // the part that is being sent
    bool copied = false;       // not by sendfile(2)
    connection* at = nullptr;  // while it is being sent
};

}  // namespace wire::http::detail
