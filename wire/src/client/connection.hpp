// One connection of an HTTP client: connects, sends a request, reads the response, waits for the
// next. Owned by client_core, on its loop's thread. The connection owns the request being answered
// (job_) and those sent behind it (behind_, pipelining), and an opener while it opens.
//
//     phase     meanwhile                                leaves the phase by
//     opening   opener_ connects, proxy, TLS             opened() -> as in idle; error -> over
//     refused   the head cannot be written               the timer, from the loop -> over
//     sending   the body is pulled from its source,      end of the body -> waiting; a head that
//               or "100 Continue" is awaited             comes before -> body; body_timeout -> over
//     waiting   all is sent, no head has come            head -> body; response_timeout -> over
//     body      the head has come                        end, nothing behind -> idle or over;
//                                                        end, others behind -> waiting, for the
//                                                        next; body_timeout -> over
//     idle      nothing is under way                     start() -> sending, waiting or refused;
//                                                        bytes, the peer's end, idle_timeout or
//                                                        the server's kept_time() -> over
//     over      closed, and the owner knows              deleted at the end of the loop iteration
//
// Beside the phase, a response in pieces may be paused: reading stops, and so does the timer, until
// resume() is called. resume(), resume_body() and what pump() leaves over go on from the loop, by
// client_transfer::wake and go_on(), so that no callback runs inside a call of the caller's.
//
// Pipelining: append() writes a request behind others; hand_out() gives out answers that have come
// together. A request whose caller has cancelled it stays in line as a job without a callback: its
// answer still has to be received.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "opener.hpp"
#include "policy.hpp"
#include "transfer.hpp"
#include "wire/client/client.hpp"
#include "wire/loop/stream.hpp"
#include "wire/proto/url.hpp"

namespace wire::http {

// A request on its way, with whatever is needed to send it again.
struct client_job {
    client_request request;
    wire::url url;
    async_client::callback done;
    std::unique_ptr<client_plan> plan;  // only where an option or a redirect needs one
    std::unique_ptr<client_transfer> streamed;
    std::optional<timer> deadline;  // total_timeout
    void* owner = nullptr;          // the client_core, for `deadline`
    request_id id = 0;
    int proxy_refusal = 0;   // the last one's, where a tunnel could not be had: opener::refusal()
    bool pipelined = false;  // has been sent behind another; once is enough
    bool resent = false;     // a kept connection lost it: goes on a new one, and once is enough

    // Whether it may be sent again: no piece of a response was given away, and no body was asked
    // for that cannot be rewound and is still needed.
    bool repeatable() const noexcept {
        return streamed == nullptr ||
               (!streamed->committed &&
                (!streamed->pulled || !request.source || request.source.rewind));
    }

    const client_timeouts& timeouts(const client_timeouts& otherwise) const noexcept {
        return request.timeouts ? *request.timeouts : otherwise;
    }
};

class client_connection;

// What a connection tells its client. Each may destroy the connection at the end of the loop
// iteration, not before.
class client_owner {
public:
    virtual event_loop& loop() noexcept = 0;
    virtual wire::detail::opening_base& opening() noexcept = 0;
    virtual const client_options& options() const noexcept = 0;
    // Send at once rather than at the end of the loop iteration: a blocking client waits for just
    // this answer.
    virtual bool eager() const noexcept = 0;
    // The connection stands.
    virtual void opened() noexcept = 0;
    // Puts the fields that the policy adds into the job's plan; called just before it is sent.
    virtual void complete(client_job& job) = 0;
    // The head of an answer has come.
    virtual void head_came(const client_job& job, const reply& head) = 0;
    // Whether the client may act on this answer itself, so that it is not to be given in pieces.
    virtual bool may_act_on(const client_job& job, const reply& head) = 0;
    // What decodes an answer that is given in pieces; none where nothing is decoded.
    virtual std::optional<body_decoder> decoder_of(const client_job& job, const reply& head) = 0;
    // The bounds for a body that is kept, and one that is given in pieces.
    virtual const limits& bounds(bool in_pieces) const noexcept = 0;
    // The job is done, and others are under way behind it. has_room() follows.
    virtual void answered(std::unique_ptr<client_job> done, result<reply> got) = 0;
    // Another request may be appended.
    virtual void has_room(client_connection& c) = 0;
    // Ready for another request; the job is done.
    virtual void became_idle(client_connection& c, std::unique_ptr<client_job> done,
                             result<reply> got) = 0;
    // The connection is closed. `job` is the request that it was answering, if any; `may_retry`: it
    // was a kept connection, and nothing of a response had come.
    virtual void ended(client_connection& c, std::unique_ptr<client_job> job, result<reply> got,
                       bool may_retry) = 0;

protected:
    ~client_owner() = default;
};

// All connections to one origin: a scheme, host and port, or the proxy that http requests are sent
// to.
struct client_origin {
    wire::detail::route to;
    bool forwarded = false;                // the proxy is sent the requests, with whole URLs
    std::vector<client_connection*> idle;  // most recently used last
    std::list<std::unique_ptr<client_job>> waiting;  // a list: nothing allocated while empty
    std::size_t connections = 0;                     // open or opening
    std::string authority;                           // for Host
    const std::string* name = nullptr;               // among the client's
    bool unpipelined = false;                        // a pipelined connection to it broke
    bool starved = false;  // requests wait for a place among all connections, not for one here
};

class client_connection final : public stream {
public:
    client_connection(client_owner& owner, client_origin& origin);

    // Connects, then sends `job`. Called once, before anything else.
    void open(std::unique_ptr<client_job> job);
    // Only while idle. False, with the job untouched, when the peer has closed meanwhile, or the
    // time is over for which the connection may be idle.
    bool start(std::unique_ptr<client_job>& job);
    // Whether append() would take the job, as far as can be known without writing it.
    bool accepts(const client_job& job) const noexcept;
    // Sends the job behind those under way (pipelining). False, with the job untouched, where it
    // cannot.
    bool append(std::unique_ptr<client_job>& job);
    // Closes the connection without telling the owner. Returns the job being answered;
    // take_behind() gives those behind it.
    std::unique_ptr<client_job> abandon();
    std::vector<std::unique_ptr<client_job>> take_behind() noexcept;
    // Takes one of several jobs away; its answer will be received and dropped. Null when no other
    // job has a callback: the connection may then be closed.
    std::unique_ptr<client_job> forget(const client_job& job);

    client_origin& origin() noexcept { return *origin_; }
    client_job* job() const noexcept { return job_.get(); }
    std::size_t behind() const noexcept { return behind_ == nullptr ? 0 : behind_->size(); }
    template <typename Is> client_job* find(Is is) const {
        if (job_ == nullptr) return nullptr;
        if (is(*job_)) return job_.get();
        for (std::size_t i = 0; i < behind(); ++i) {
            if (is(*(*behind_)[i])) return (*behind_)[i].get();
        }
        return nullptr;
    }

    void pause();
    void resume();
    void resume_body();
    void go_on();

private:
    enum class phase : std::uint8_t { opening, refused, sending, waiting, body, idle, over };

    void on_open() override;
    void on_data(std::span<char> bytes) override;
    std::span<char> receive_space(std::span<char> scratch) override;
    void on_end() override;
    void on_failure(const error& why) override;
    void on_drained() override;

    // Of the present response.
    response_head& answer() noexcept;
    const response_head& answer() const noexcept;
    buffer& body() noexcept;
    void opened(result<open_times> how);
    void send_request();
    errc write_request(const client_job& job);
    void begin_response();
    void await_response();
    void pump();
    void stop_awaiting_continue();
    void go_on_waiting();
    void stop_waiting_for_source();
    void take(std::span<char> bytes);
    std::size_t consume(std::span<char> bytes);
    step next_step(std::span<char> bytes);
    void take_head(std::string_view raw);
    bool give(std::string_view piece);
    void finish_response(bool more_follows);
    void hand_out(std::span<char> rest);
    void fail(error why);
    void enter(phase p, std::chrono::milliseconds limit);
    void on_timer();

    client_owner* owner_;
    client_origin* origin_;
    std::unique_ptr<client_job> job_;
    std::unique_ptr<wire::detail::opener> opener_;  // while it opens
    open_times times_;
    response_parser parser_;
    reply reply_;
    buffer held_;                     // a part of a head
    std::unique_ptr<buffer> mended_;  // the last head; only with risky_accept_malformed_heads
    std::unique_ptr<std::vector<std::unique_ptr<client_job>>>
        behind_;  // sent after job_; none has been answered
    timer timer_ = timer::calling<&client_connection::on_timer>(this);
    time_point idle_since_{};
    time_point idle_until_{};
    std::size_t left_before_ = 0;  // unsent bytes when timer_ was armed, in `waiting`
    phase phase_ = phase::opening;
    bool used_before_ = false;
    bool heard_ = false;  // something of the response has come
    bool complete_ = false;
    bool in_pieces_ = false;  // the present response
    bool can_pipeline_ =
        false;  // has given an answer in HTTP/1.1, and gone on: it can be sent several requests
    bool handing_out_ = false;  // answers that came together
    bool unlimited_ = false;    // the parser has the bounds for pieces
    bool paused_ = false;
    bool filled_ = false;  // the last bytes filled what they were received into: more may be there
    errc refused_ = errc::none;  // why the request cannot be sent
};

}  // namespace wire::http
