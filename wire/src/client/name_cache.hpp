// What an HTTP client knows of host names: answers of look-ups that it keeps, and look-ups under
// way, which serve all who ask for the same name meanwhile.
//
//     a name is   when                                   until
//     unknown     at first                               resolve(): asked
//     asked       one look-up runs; others wait with it  its answer: kept, or unknown where nothing
//                                                        is to be kept
//     kept        there is an answer of a look-up        its time is over; drop(); many newer names
//
// getaddrinfo() tells no time to live (TTL), so name_cache_options bounds all answers alike. On the
// loop's thread.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "resolver.hpp"
#include "wire/client/opening.hpp"

namespace wire::detail {

class name_cache {
public:
    // `loop` and `names`, whose loop it is, must outlive it. `now`: for tests.
    name_cache(event_loop& loop, resolver& names, const name_cache_options& options,
               std::function<time_point()> now = &clock::now);

    // Addresses that are kept, in the order of the look-up that gave them, never none; they live
    // until the next call. `done` is dropped then. Null: `done` is called with the answer later,
    // from the loop; with an error that is kept even when this is gone by then. All calls for one
    // name must bring the same `how`: whoever is first decides. A look-up that none of them wants
    // any more need not be made.
    const std::vector<address>* resolve(const std::string& host, std::uint16_t port,
                                        const resolver::look_up& how,
                                        unique_function<bool()> wanted, resolver::callback done);
    // Forgets what is kept: it has proved useless.
    void drop(const std::string& host, std::uint16_t port);

private:
    using answer = resolver::answer;
    struct asker {
        unique_function<bool()> wanted;
        resolver::callback done;
    };
    struct entry {
        time_point until;
        answer found;
    };

    bool is_wanted(const std::string& name);
    void answered(const std::string& name, const answer& found);
    void keep(const std::string& name, const answer& found);

    event_loop* loop_;
    resolver* names_;
    name_cache_options options_;
    std::function<time_point()> now_;
    std::unordered_map<std::string, entry> kept_;  // by "host:port"
    std::unordered_map<std::string, std::vector<asker>> asked_;
};

}  // namespace wire::detail
