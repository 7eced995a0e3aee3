// Looks up the addresses of hosts on other threads, without blocking the loop.
//
//     a look-up is   when                               until
//     waiting        most_at_once others are under way  one of them ends: under way; dropped where
//                                                       nobody wants it any more, so that names
//                                                       whose servers do not answer, and that were
//                                                       given up, do not delay others
//     under way      a thread of its own does it        its answer: `done` is called from the loop
//     abandoned      the resolver is gone               its answer, which is dropped
//
// getaddrinfo() cannot be interrupted, and waits for seconds where no name server answers: nobody
// waits for a thread that is in it. A user's function is waited for, as what it uses may go with
// the client. All but that thread is the loop's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wire/base/function.hpp"
#include "wire/loop/address.hpp"
#include "wire/loop/event_loop.hpp"

namespace wire::detail {

class resolver {
public:
    using answer = result<std::vector<address>>;
    using callback = unique_function<void(answer)>;
    using look_up = std::function<answer(const std::string& host, std::uint16_t port)>;

    // Many: each costs a thread, while names that are not answered take one for some seconds.
    static constexpr std::size_t most_at_once = 32;

    // `systems`: for tests.
    explicit resolver(event_loop& loop, look_up systems = &wire::resolve)
        : loop_(&loop), systems_(std::move(systems)) {}
    ~resolver() { stop(); }
    resolver(const resolver&) = delete;
    resolver& operator=(const resolver&) = delete;

    // Calls `done` later, from the loop. `how`: instead of the system's. `wanted` is asked before a
    // look-up that has waited begins; where it is not, `done` is given errc::cancelled.
    void resolve(const std::string& host, std::uint16_t port, look_up how,
                 unique_function<bool()> wanted, callback done);
    // Waits for the users' look-ups under way. No `done` is called any more, and nothing may be
    // looked up. Also from inside a `done`.
    void stop() noexcept;

private:
    struct query {
        std::string host;
        std::uint16_t port;
        look_up how;
        unique_function<bool()> wanted;
        callback done;
    };
    struct under_way {
        std::thread thread;
        bool is_users = false;
        callback done;
    };
    // What a thread finds of the resolver when it has the answer.
    struct way_back;

    void begin(query q);
    void answered(std::uint64_t id, answer found);

    event_loop* loop_;
    look_up systems_;
    std::shared_ptr<way_back> back_;  // made when the first name is looked up
    std::deque<query> waiting_;
    std::unordered_map<std::uint64_t, under_way> under_way_;
    std::uint64_t last_id_ = 0;
};

}  // namespace wire::detail
