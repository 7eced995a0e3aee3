#include "http_service.hpp"

namespace wirebench {

std::size_t http_service::on_bytes(event_loop& loop, connection& from, char* data, std::size_t size,
                                   parse_state& state) {
    std::size_t used = 0;
    state.need = 0;
    while (used < size && !from.websocket && !loop.is_full(from)) {
        http1::request request;
        const auto result = http1::parse({data + used, size - used}, request, state.chunks);
        switch (result.kind) {
        case http1::progress::need_more:
            // RFC 9110 section 10.1.1: the client waits for this before it sends the body.
            if (request.head_complete && request.expects_continue && !request.http_1_0 &&
                !from.continued) {
                from.continued = true;
                loop.queue_fixed(from, "HTTP/1.1 100 Continue\r\n\r\n");
            }
            state.need = result.need;
            return used;
        case http1::progress::error: refuse(loop, from, result.status); return used;
        case http1::progress::complete:
            on_request(loop, from, request);
            from.continued = false;
            if (state.chunks.next != 0) state.chunks = {};
            used += result.size;
        }
    }
    return used;
}

void http_service::refuse(event_loop& loop, connection& to, int status) {
    static const auto refusal = [](std::string_view text) {
        return http1::fixed_response(text, "", "");
    };
    static const auto bad_request = refusal("400 Bad Request");
    static const auto too_large = refusal("413 Content Too Large");
    static const auto head_too_large = refusal("431 Request Header Fields Too Large");
    static const auto unknown_coding = refusal("501 Not Implemented");
    static const auto unknown_version = refusal("505 HTTP Version Not Supported");
    const auto& reply = status == 413   ? too_large
                        : status == 431 ? head_too_large
                        : status == 501 ? unknown_coding
                        : status == 505 ? unknown_version
                                        : bad_request;
    loop.queue_fixed(to, reply.closing());
    to.closing = true;
    to.lingers = true;
}

}  // namespace wirebench
