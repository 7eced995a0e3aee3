// Bytes into requests, for every service that speaks HTTP.
#pragma once

#include "event_loop.hpp"
#include "http1.hpp"

namespace wirebench {

class http_service : public service {
public:
    std::size_t on_bytes(event_loop& loop, connection& from, char* data, std::size_t size,
                         parse_state& state) override;

protected:
    virtual void on_request(event_loop& loop, connection& from, const http1::request& request) = 0;

    static void reply(event_loop& loop, connection& to, const http1::request& request,
                      const http1::fixed_response& what) {
        loop.queue_fixed(to, what.for_request(request));
        if (!request.keep_alive) to.closing = true;
    }

    http1::fixed_response not_found_{"404 Not Found", "Content-Type: text/plain\r\n", "not found"};

private:
    void refuse(event_loop& loop, connection& to, int status);
};

}  // namespace wirebench
