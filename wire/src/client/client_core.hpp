// What http::async_client and http::client are made of: all connections of one client, and all
// requests that it was given and has not yet answered. Belongs to its loop's thread.
//
// A request (client_job) is owned by exactly one of these at a time:
//
//     where                    it is there                     it leaves when
//     client_connection        first in line, or pipelined     answered() / became_idle() / ended()
//     client_origin::waiting   no connection is free for it    a place becomes free: freed()
//     parked_                  pausing before a retry          its timer: send_again()
//     parked_                  its answer is given in pieces   deliver()
//     undelivered_             its error is known              the posted call of deliver_later()
//
//     send() -> begin() -> submit() -> an idle connection, a new one, pipeline(), or `waiting`
//     answer or failure -> settle() -> client_policy::judge() -> the caller's callback,
//                                                                submit() again, or parked_
//     cancel(), total_timeout -> withdraw() from wherever it is -> deliver_later()
//
// A connection is owned by connections_ until its end, then by deferred_deletion_ until the end of
// the loop iteration: its own callbacks are still on the stack. An origin lives as long as it has
// connections or waiting requests (tidy()).
//
// No callback of the caller's runs inside a call of the caller's: errors known at once are posted.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "connection.hpp"
#include "loop/deferred_deletion.hpp"
#include "opener.hpp"
#include "policy.hpp"

namespace wire::http::detail {

class client_core final : public client_owner {
public:
    // The loop must outlive it. `blocking`: it is wire::detail::blocking_loop()'s, and run by
    // run_alone() or by whoever waits for the answer.
    client_core(event_loop& loop, client_options options, bool blocking);
    ~client_core();
    client_core(const client_core&) = delete;
    client_core& operator=(const client_core&) = delete;

    // Ends all requests with errc::stopped, inside this call; what their callbacks then send ends
    // so too, from the loop. The first call counts. May be called by a callback of a request, which
    // is not destroyed before this is.
    void stop();

    request_id send(client_request request, async_client::callback done);
    request_id send(client_request request, response_pieces to);
    void cancel(request_id id);
    void pause(request_id id);
    void resume(request_id id);
    void resume_body(request_id id);

    // For the blocking client: waits in recv() of the connection that took the last request. False
    // when that will not do and the loop has to run.
    bool run_alone() noexcept { return busy_ != nullptr && busy_->run_alone(); }
    std::uint64_t connections_opened() const noexcept { return opened_; }

    // ---- client_owner: what connections tell and ask ----

    event_loop& loop() noexcept override { return *loop_; }
    wire::detail::opening_base& opening() noexcept override { return opening_; }
    const client_options& options() const noexcept override { return options_; }
    bool eager() const noexcept override { return opening_.blocking; }
    void opened() noexcept override { ++opened_; }
    void complete(client_job& job) override { policy_.complete(job); }
    void head_came(const client_job& job, const reply& head) override {
        policy_.take_cookies(job, head);
    }
    bool may_act_on(const client_job& job, const reply& head) override {
        return policy_.may_act_on(job, head);
    }
    std::optional<body_decoder> decoder_of(const client_job& job, const reply& head) override {
        return client_policy::decoder_of(job, head, piece_limits_);
    }
    const limits& bounds(bool in_pieces) const noexcept override {
        return in_pieces ? piece_limits_ : options_.limits;
    }
    void answered(std::unique_ptr<client_job> done, result<reply> got) override;
    void has_room(client_connection& c) override;
    void became_idle(client_connection& c, std::unique_ptr<client_job> done,
                     result<reply> got) override;
    void ended(client_connection& c, std::unique_ptr<client_job> job, result<reply> got,
               bool may_retry) override;

private:
    // ---- requests ----

    request_id begin(std::unique_ptr<client_job> job);
    // Parses the URL into the job. An error for one that this client cannot ask for.
    error check(client_job& job);
    void submit(std::unique_ptr<client_job> job);
    void submit(client_origin& o, std::unique_ptr<client_job> job);
    // Sends it behind others, where it would have to wait for them anyway. False, with the job
    // untouched, where it may not.
    bool pipeline(client_origin& o, std::unique_ptr<client_job>& job);
    // What has come of a request: the caller's, unless the policy sends another.
    void settle(std::unique_ptr<client_job> job, result<reply> got);
    void deliver(std::unique_ptr<client_job> job, result<reply> got);
    void deliver_later(std::unique_ptr<client_job> job, error why);
    client_job* park(std::unique_ptr<client_job> job);
    std::unique_ptr<client_job> unpark(client_job* raw);
    static void send_again(void* waited);
    static void out_of_time(void* late);
    // Takes the request for which `is` holds from wherever it is; null when it is over.
    template <typename Is> std::unique_ptr<client_job> withdraw(Is is);
    client_connection* carrier_of(request_id id) noexcept;

    // ---- connections and origins ----

    // Made when it is not there. options_.proxy must be well-formed: check() sees to it.
    client_origin& origin_of(const url& to);
    void open(client_origin& o, std::unique_ptr<client_job> job);
    bool drop_an_idle_one();
    // For as long as the client lives, or until a thousand others have been noted since.
    void stop_pipelining(client_origin& o);
    // Whose request a free place is for: one that waits at `o`, or one that waits for a place among
    // all connections, whichever came first. Null when none waits.
    client_origin* next_in_line(client_origin& o) noexcept;
    std::unique_ptr<client_job> take_waiting(client_origin& o);
    // After any change of an origin's connections or of what waits there.
    void update_starved(client_origin& o);
    // A place has become free; `o` may have nothing left.
    void freed(client_origin& o);
    // Forgets an origin that has neither connections nor requests.
    void tidy(client_origin& o);
    // Hands the connection over for deletion at the end of the loop iteration.
    void defer(client_connection& c);

    event_loop* loop_;
    client_options options_;
    client_policy policy_;
    wire::detail::opening_base opening_;
    std::unordered_map<std::string, client_origin> origins_;
    std::unordered_map<client_connection*, std::unique_ptr<client_connection>> connections_;
    wire::detail::deferred_deletion<client_connection> deferred_deletion_;
    std::unordered_set<std::string> unpipelined_;  // origins by name
    std::unordered_map<client_job*, std::unique_ptr<client_job>> parked_;
    std::unordered_map<client_job*, std::unique_ptr<client_job>> undelivered_;
    std::vector<std::unique_ptr<client_job>> stopped_;
    // Those that could open a connection for a request that waits, if there were a place for it
    // among all connections. In the order in which they get one.
    std::list<client_origin*> starved_;
    std::size_t waiting_ = 0;  // requests, at all origins
    limits piece_limits_;      // options_.limits, with max_streamed_bytes
    request_id last_id_ = 0;
    // Most programs ask for the same URL again and again: it is parsed once.
    struct {
        std::string text;
        wire::url url;
        client_origin* origin = nullptr;  // null: nothing is remembered
    } last_;
    std::shared_ptr<char> alive_;        // for posted calls; made when first needed
    client_connection* busy_ = nullptr;  // the last that was given a request, while it has it
    std::uint64_t opened_ = 0;
    bool stopping_ = false;
};

}  // namespace wire::http::detail
