// A client's logins for Digest authentication, and the session that each has with its server.
// Belongs to the client's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "digest.hpp"
#include "wire/base/result.hpp"
#include "wire/client/digest_login.hpp"
#include "wire/proto/http_types.hpp"
#include "wire/proto/url.hpp"

namespace wire::http::detail {

// What one request has tried. A redirect begins anew.
struct digest_progress {
    unsigned answered = 0;      // challenges; at most two
    std::uint64_t session = 0;  // that its last sending belonged to; 0: none
};

class digest_logins {
public:
    // Whether they are well-formed, and Digest is to be had at all: errc::bad_argument.
    static result<void> check(const std::vector<digest_login>& logins);

    // Those must be well-formed.
    explicit digest_logins(const std::vector<digest_login>& logins);

    // Appends the Authorization line of a request to `to`, which is about to be sent, if a server
    // has asked for one there.
    void append_field(std::string& fields, const url& to, std::string_view method,
                      digest_progress& progress);
    // Whether take_challenge() would be true.
    bool can_answer(const url& to, const digest_progress& progress,
                    const header_list& answer) const;
    // A request to `to` was answered with 401 and these fields. True where it is to be sent again,
    // if it can be: append_field() then has an answer, also for the requests after it. The first
    // challenge is answered, and another where it says that the nonce of that answer was stale.
    bool take_challenge(const url& to, digest_progress& progress, const header_list& answer);

private:
    struct entry {
        url origin;
        std::string user;
        std::string password;
        std::optional<digest_session> session;
        std::uint64_t number = 0;  // of the session
    };

    const entry* find(const url& to) const noexcept;
    entry* find(const url& to) noexcept {
        return const_cast<entry*>(std::as_const(*this).find(to));
    }

    std::vector<entry> entries_;
    std::uint64_t last_session_ = 0;
};

}  // namespace wire::http::detail
