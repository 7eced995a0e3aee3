// HTTP/1.1 requests and the checking of their replies.
//
// Received bytes are handled in this order, on the worker's thread:
//
//   bytes received              are                                    kept until the next read
//   -------------------------   ------------------------------------   ------------------------
//   replies seen right before   compared: consume_known()              nothing
//   a whole reply               parsed where they lie: consume()       nothing
//   a part of a reply           parsed as far as they go               unfinished
//   beyond the last request     an error: the connection fails         nothing
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/connection.hpp"
#include "wire/proto/http_parser.hpp"

namespace wireload {

class http_connection final : public connection {
public:
    using connection::connection;

private:
    // A reply as far as it has come.
    struct reply {
        explicit reply(const plan& p) : parser(p.limits) {}
        wire::http::response_parser parser;
        reply_checks::progress checked;
        int status = 0;
        bool keep_alive = true;
        bool whole = true;  // so far all of it came in one read
    };
    // A reply that came in part. Most replies come whole: they are parsed where they were received,
    // and none of this exists.
    struct unfinished {
        reply r;
        std::string head;  // bytes of a head that is not complete
    };

    // The oldest in flight, which the next reply answers. Precondition: in_flight() != 0.
    const prepared_request& asked() const { return request(oldest()); }
    const prepared_request& request(std::uint64_t counter) const {
        return host_.the_plan().request_of(number(), counter);
    }

    void begin_session() override { session_ready(); }
    std::size_t append_request(wire::buffer& out, std::uint64_t counter, std::size_t offset,
                               std::size_t most) override;
    repeated_text lasting_text(std::uint64_t counter) const override {
        // Of several requests those of one send would have to be put together.
        if (host_.the_plan().only == nullptr && host_.in_flight_limit() != 1) return {};
        const std::string_view text = request(counter).lasting();
        return {text, text.empty() ? 0 : request(counter).bytes.size()};
    }
    std::string sent_text(std::uint64_t counter) const override;
    std::string expected_text(std::uint64_t counter) const override;
    void forget() override { unfinished_.reset(); }

    void on_data(std::span<char> bytes) override;
    void on_end() override;

    // Replies that are byte for byte the one that was parsed and found right before: what a parser
    // says between two messages depends on the bytes alone, so these are right as well. Returns
    // what follows them.
    std::string_view consume_known(std::string_view in, nanos at);
    // Takes what `in` has for `r`, and for the replies behind it. Returns the bytes that were not
    // used up.
    std::string_view consume(reply& r, std::string_view in, nanos at);
    // The reply is complete; `text`: as much of it as is at hand. False when the connection is gone
    // or leads a new life.
    bool complete(reply& r, std::string_view text, nanos at);

    std::unique_ptr<unfinished> unfinished_;
};

}  // namespace wireload
