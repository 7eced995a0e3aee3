// One connection of an HTTP client: connects, sends a request, reads the response, waits for the next.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wire/client/client.hpp"
#include "wire/loop/stream.hpp"
#include "wire/proto/url.hpp"

namespace wire::http {

// A request on its way, with whatever is needed to send it again.
struct client_job {
    client_request request;
    wire::url url;
    async_client::callback done;
};

class client_connection;

// What a connection tells its client. Each may destroy the connection at the end of the turn, not before.
class client_owner {
public:
    virtual event_loop& loop() noexcept = 0;
    virtual const client_options& options() const noexcept = 0;
    // Send at once rather than at the end of the turn: somebody is blocked, waiting for just this.
    virtual bool eager() const noexcept = 0;
    // For https.
    virtual result<std::shared_ptr<wire::tls::client_context>> tls() = 0;
    // Ready for another request; the job is done.
    virtual void became_idle(client_connection& c, std::unique_ptr<client_job> done, result<reply> got) = 0;
    // Closed. `job` is what it was doing, if anything; `may_retry`: nothing of a response had come on a kept connection.
    virtual void ended(client_connection& c, std::unique_ptr<client_job> job, result<reply> got, bool may_retry) = 0;

protected:
    ~client_owner() = default;
};

struct client_origin;

class client_connection final : public stream {
public:
    client_connection(client_owner& owner, client_origin& origin);

    // Exactly one of the two, first. Addresses are tried in turn.
    void open(std::vector<address> addresses, std::unique_ptr<client_job> job);
    // Only while idle. False, with the job untouched, when the peer has closed meanwhile.
    bool start(std::unique_ptr<client_job>& job);
    // Ends it without telling the owner; gives back what it was doing.
    std::unique_ptr<client_job> abandon();

    client_origin& origin() noexcept { return *origin_; }

private:
    enum class phase : std::uint8_t { connecting, waiting, body, idle, over };

    void on_open() override;
    void on_data(std::span<char> bytes) override;
    std::span<char> receive_space(std::span<char> scratch) override;
    void on_end() override;
    void on_failure(const error& why) override;

    void try_next_address(error last);
    void send_request();
    std::size_t consume(std::span<char> bytes);
    void take_head(std::string_view raw);
    void finish_response(bool more_follows);
    void fail(error why);
    void enter(phase p, std::chrono::milliseconds limit);
    void on_timer();

    client_owner* owner_;
    client_origin* origin_;
    std::unique_ptr<client_job> job_;
    std::vector<address> addresses_;  // not yet tried, last first
    response_parser parser_;
    reply reply_;
    buffer held_;                     // a part of a head
    timer timer_ = timer::calling<&client_connection::on_timer>(this);
    phase phase_ = phase::connecting;
    bool used_before_ = false;
    bool heard_ = false;              // something of the response has come
    bool complete_ = false;
};

}  // namespace wire::http
