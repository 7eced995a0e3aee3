// Looks up the addresses of a host on other threads, without blocking the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "wire/base/function.hpp"
#include "wire/loop/address.hpp"
#include "wire/loop/blocking_pool.hpp"
#include "wire/loop/event_loop.hpp"

namespace wire::detail {

class resolver {
public:
    using callback = unique_function<void(result<std::vector<address>>)>;

    using look_up =
        std::function<result<std::vector<address>>(const std::string& host, std::uint16_t port)>;

    explicit resolver(event_loop& loop) noexcept : loop_(&loop) {}

    // Calls back from the loop, unless the resolver is destroyed before. Destroying it waits for
    // the look-ups under way. `how`: instead of the system's.
    void resolve(const std::string& host, std::uint16_t port, look_up how, callback done) {
        // Several threads, so that a name whose servers do not answer delays no other.
        if (pool_ == nullptr) {
            pool_ = std::make_unique<blocking_pool>(4);
            // Before the threads start: later they may be about to post. If it fails, results are
            // noticed a little later.
            [[maybe_unused]] const auto prompt = loop_->core().make_wakeable();
            alive_ = std::make_shared<char>();
        }
        answer to{loop_, alive_, std::make_shared<callback>(std::move(done))};
        try {
            pool_->run([host, port, how = std::move(how), to]() mutable {
                to.give(how ? how(host, port) : wire::resolve(host, port));
            });
        } catch (const std::system_error& e) {
            to.give(system_failure(e.code().value(), "cannot start a thread"));
        }
    }

private:
    struct answer {
        event_loop* loop;
        std::weak_ptr<char> alive;
        std::shared_ptr<callback> done;

        // Any thread. Once, and with it `done` is the loop's thread's.
        void give(result<std::vector<address>> found) {
            loop->post([to = std::move(*this), found = std::move(found)]() mutable {
                if (!to.alive.expired()) (*to.done)(std::move(found));
            });
        }
    };

    event_loop* loop_;
    // Made when the first name is looked up.
    std::shared_ptr<char> alive_;
    std::unique_ptr<blocking_pool> pool_;
};

}  // namespace wire::detail
