// Connections that wait before they are opened again, the earliest first.
#pragma once

#include <queue>

#include "base/clock.hpp"

namespace wireload {

class connection;

class retry_queue {
public:
    void push(connection& c, nanos at) { waiting_.push({at, &c}); }
    // When the first one is due; `never` when none waits.
    nanos next() const { return waiting_.empty() ? never : waiting_.top().at; }
    // One that is due by `now`, removed; null when there is none.
    connection* pop_due(nanos now) {
        if (next() > now || waiting_.empty()) return nullptr;
        connection* const c = waiting_.top().who;
        waiting_.pop();
        return c;
    }

private:
    struct retry {
        nanos at;
        connection* who;
        bool operator<(const retry& other) const { return at > other.at; }  // earliest on top
    };
    std::priority_queue<retry> waiting_;
};

}  // namespace wireload
