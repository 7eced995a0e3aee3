// What a loop's connections report: to the access log, the metrics, or both.
#pragma once

#include <functional>

#include "exchange.hpp"
#include "loop_metrics.hpp"
#include "wire/server/access_log.hpp"

namespace wire::http::detail {

class observer {
public:
    // Either may be null; both must outlive it.
    observer(const std::function<void(const access_record&)>* log, loop_metrics* counts) noexcept
        : log_(log), counts_(counts) {}

    loop_metrics* counts() noexcept { return counts_; }

    void begin(exchange& e) noexcept { e.started = clock::now(); }
    // Once for each request. `asked` is null when there was no whole head; `answer` is what was
    // sent, and the same unless the library answered by itself.
    void finish(const exchange* asked, const exchange& answer, int status,
                const address& peer) const;

    void accepted() noexcept {
        if (counts_ != nullptr) counts_->accepted.add();
    }
    void closed() noexcept {
        if (counts_ != nullptr) counts_->closed.add();
    }
    void refused(refusal why) noexcept {
        if (counts_ != nullptr) counts_->refused[static_cast<std::size_t>(why)].add();
    }
    void timed_out(timeout_phase p) noexcept {
        if (counts_ != nullptr) counts_->timeouts[static_cast<std::size_t>(p)].add();
    }
    // Counts those errors that are limits.
    void failed(errc why) noexcept;

private:
    const std::function<void(const access_record&)>* log_;
    loop_metrics* counts_;
};

}  // namespace wire::http::detail
