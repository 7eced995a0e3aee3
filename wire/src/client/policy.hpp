// What a client does about a request besides sending it: redirects, retries, cookies, decoding. The
// policy decides, client_core acts. Cookies are stored as soon as a reply's head is there; judge()
// looks at a reply or an error in this order:
//
//     what                                                     verdict
//     401 with a challenge of Digest authentication that       send: the same again, with the
//       there is a login for; digest_logins.hpp has the rest       answer
//     417 for an Expect: 100-continue                          send: the same request without it
//     may be retried: the method is idempotent or the job      wait: again after the pause that the
//       repeatable, retries and time are left, and the         plan holds
//       status or error is one that retries may mend
//     an error                                                 deliver
//     redirect with a Location that may be followed            send: the job is the next request
//     now redirect beyond max_redirects, or to a bad URL           deliver, as an error any other
//     reply                                          deliver, decoded where it was asked
//
// Nothing of a body may have been given to or taken from the caller: such a job is never repeated.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "digest_logins.hpp"
#include "wire/client/client.hpp"
#include "wire/loop/event_loop.hpp"

namespace wire::http {

struct client_job;

// What the policy keeps of a request between its sendings.
struct client_plan {
    std::string fields;  // whole lines that go into the head, anew at each sending
    std::vector<redirect> redirects;
    bool decodes = false;  // the request asks for codings of our own choice
    time_point begun{};
    unsigned retries = 0;
    detail::digest_progress digest;
    clock::duration pause{};       // before the next
    std::optional<timer> waiting;  // for it
    void* owner = nullptr;         // the client_core, for `waiting`
};

// RFC 9110 section 9.2.2.
constexpr bool is_idempotent(method m) noexcept {
    return m != method::post && m != method::patch && m != method::connect && m != method::other;
}

// Whether the server may be asked twice: by the method, or because the caller says so.
inline bool may_repeat(const client_request& r) noexcept {
    return is_idempotent(r.method) || r.repeatable;
}

// An expectation without content would never be answered (RFC 9110 section 10.1.1).
inline bool expects_continue(const client_request& r) noexcept {
    return r.expect_continue && r.source && r.source.length != 0U;
}

// The pause before the n-th retry, n from 1; `random` is any number.
std::chrono::milliseconds backoff(const retry_options& options, unsigned n,
                                  std::uint64_t random) noexcept;

// Retry-After (RFC 9110 section 10.2.3) in seconds or as a date, seen at `now`, seconds since 1970;
// a date that has passed is 0. At most a hundred years.
std::optional<std::chrono::seconds> parse_retry_after(std::string_view value,
                                                      std::int64_t now) noexcept;

class body_decoder;

class client_policy {
public:
    explicit client_policy(const client_options& options);  // which must outlive it

    // Why these options allow no request at all.
    const error& refusal() const noexcept { return refusal_; }

    enum class verdict : std::uint8_t { deliver, send, wait };

    // A new request, before its first sending.
    void begin(client_job& job, time_point now);
    // Just before each sending.
    void complete(client_job& job);
    // Stores the cookies of an answer, whatever becomes of its body.
    void take_cookies(const client_job& job, const reply& head);
    // What is to become of `got`. With `send` and `wait` the job has been changed into the next
    // request, and the plan says how long to wait; with `deliver`, `got` is ready for the caller.
    verdict judge(client_job& job, result<reply>& got, time_point now);
    // Whether judge() may say something else than `deliver` of an answer with this head.
    bool may_act_on(const client_job& job, const reply& head) const;
    // What an answer's body is to go through before it is given to the caller, if anything.
    static std::optional<body_decoder> decoder_of(const client_job& job, const reply& head,
                                                  const limits& bounds);

private:
    std::optional<error> follow(client_job& job, const reply& got, std::string_view location);
    errc decode(const client_job& job, reply& r) const;
    bool retry(client_job& job, const result<reply>& got, time_point now);
    bool authenticates(const client_job& job) const;
    std::uint64_t random() noexcept;

    const client_options* options_;
    std::unique_ptr<detail::digest_logins> digest_;  // null without any
    error refusal_;
    std::uint64_t random_state_;
};

}  // namespace wire::http
