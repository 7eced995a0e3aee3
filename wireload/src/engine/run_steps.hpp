// The steps that every run is made of, on the main thread: start the threads, open connections,
// give orders, wait for them, sum up.
//
//   start() -> open_all() -> learn_start() -> wait_for_start() -> order() -> wait_for_orders() ...
//           -> finish()
//
// A run ends early when the user sends SIGINT or SIGTERM, or when every connection of every thread
// is dead: wait_for_orders() then cuts the orders short, and cut() says why.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/control.hpp"
#include "engine/source_ports.hpp"
#include "engine/worker.hpp"
#include "measure/process_watch.hpp"
#include "measure/progress_view.hpp"
#include "measure/run_result.hpp"
#include "measure/series.hpp"

namespace wireload {

// Wall-clock time, for documents.
std::int64_t unix_now();

class run_steps {
public:
    // All must outlive it; `watch` may be null.
    run_steps(const plan& p, process_watch* watch, const view_maker& make_view);
    ~run_steps();
    run_steps(const run_steps&) = delete;
    run_steps& operator=(const run_steps&) = delete;

    // Returns what is wrong, or an empty text.
    std::string start();
    // Opens connections up to `total`, and notes how that went. Returns how many are open then.
    struct opening {
        std::uint64_t open_now = 0;
        std::uint64_t failures = 0;
        nanos elapsed = 0;
    };
    opening open(std::uint32_t total, std::uint32_t at_once);
    // The connect phase of all runs but ramps. False when there is nothing to go on with.
    bool open_all();
    // Finds out when the load is to begin, where that was asked for (--start). False when the run
    // is over with it: problem() or the result says why.
    bool learn_start();
    // Waits until `ahead` of that moment. False when the user ended the run instead.
    bool wait_for_start(nanos ahead);
    // How long before a window the processes of the watched server are looked for. That takes some
    // milliseconds, and more where a host has thousands of processes. What the server begins later
    // counts from its own beginning; so not long before, as it may begin some under load.
    static constexpr nanos find_ahead = 200'000'000;
    void find_server() {
        if (watch_ != nullptr) watch_->find();
    }
    // In a warm-up, or another order that goes on.
    void find_server_before(nanos window_start) {
        wait_until(window_start - find_ahead);
        find_server();
    }
    void order(const load_order& order);
    // Waits until then, until the orders are over, or for the user; the view is drawn meanwhile.
    void wait_until(nanos until);
    // Waits until then or for the user, between orders.
    void pause_until(nanos until);
    // Waits for the orders to be done; looks at the server's memory meanwhile if `watching`. When
    // the user or the failure of everything ends the run first, the orders are cut short and the
    // reason is noted. Returns early at `until`.
    void wait_for_orders(bool watching, nanos until = never);
    bool all_done() const;
    // Tells the view, if there is one, which part of the run begins.
    void show(std::string_view phase, nanos start, nanos end = never, std::uint64_t count = 0);

    tally gather() const;
    // Of the connections that were opened `known` are accounted for. The others were lost before
    // the window, which is an error where nobody opens them again.
    void note_lost_before(tally& counts, std::uint64_t known) const;
    // Adds the connections of a window to those of the connect phase. Without keep-alive,
    // connecting is a part of the window.
    void note_opened(const tally& counts);
    // Ends the threads and the view.
    run_result finish();

    const options& asked() const { return plan_.asked; }
    unsigned used_cpus() const { return plan_.cpus; }
    const cpu_quota& quota() const { return plan_.quota; }
    process_watch* watch() const { return watch_; }
    const std::vector<std::unique_ptr<worker>>& workers() const { return workers_; }
    const std::optional<stop_reason>& cut() const { return cut_; }
    bool interrupted() const { return control_.interrupted(); }
    void stop_for(stop_reason reason) { cut_ = reason; }
    // Why nothing could be measured; most often empty.
    const std::string& problem() const { return problem_; }
    run_result& out() { return out_; }

private:
    bool over() const;
    void wait(nanos until, const std::function<bool()>& is_over);
    void note_connects_of_window();
    void end_threads();

    const plan& plan_;
    process_watch* const watch_;
    control control_;  // before the threads: they inherit its signal mask
    source_ports sources_;
    std::unique_ptr<series_collector> series_;
    std::unique_ptr<progress_view> view_;  // null: nothing is shown
    std::vector<std::unique_ptr<worker>> workers_;
    std::optional<stop_reason> cut_;
    std::string problem_;
    run_result out_;
};

}  // namespace wireload
