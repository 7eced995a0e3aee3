// Bounds on everything that a peer controls. All are finite by default, but for handler_timeout.
//
//     http::server_options options;
//     options.limits.max_body_bytes = 16 << 20;
//     options.limits.idle_timeout = std::chrono::seconds(30);
//
// Each says where its default comes from. A server answers what exceeds one with the status that
// the RFCs give (400, 408, 413, 414, 431) or a WebSocket close code (1002, 1007, 1008, 1009, 1013),
// and ends the connection; a client reports the errc of the same name.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace wire {

// Plain values: set them before the server or client starts, which copies them.
struct limits {
    // Request target. RFC 9112 section 3 recommends supporting at least 8,000 octets in a request
    // line.
    std::size_t max_uri_bytes = 8192;

    // Start line and all fields together. Node's http and hyper's practice: 16 KiB.
    std::size_t max_header_bytes = 16 * 1024;

    // Fields in one message. Apache's LimitRequestFields and hyper: 100.
    std::size_t max_headers = 100;

    // Body of one message after transfer decoding. nginx's client_max_body_size: 1 MiB.
    std::uint64_t max_body_bytes = 1024 * 1024;

    // All chunk extensions of one message together. RFC 9112 section 7.1.1 asks for such a limit.
    std::size_t max_chunk_extension_bytes = 4096;

    // Trailer fields of one message together (RFC 9110 section 6.5).
    std::size_t max_trailer_bytes = 8192;

    // Parameters in one query or form. PHP's max_input_vars: 1000.
    std::size_t max_parameters = 1000;

    // Cookies in one request. Chrome keeps 180 for one site (RFC 6265 section 6.1 asks for at least
    // 50).
    std::size_t max_cookies = 180;

    // Parts of one multipart/form-data body, the head of each, and what each holds. Go's
    // mime/multipart: 1000 parts; a part's size is bounded by that of the body as well.
    std::size_t max_parts = 1000;
    std::size_t max_part_header_bytes = 4096;
    std::uint64_t max_part_bytes = 1024 * 1024;

    // Interim (1xx) responses before a final one. Go's net/http transport: 5.
    std::size_t max_interim_responses = 5;

    // One WebSocket message, all fragments together (RFC 6455 section 10.4). Python's websockets: 1
    // MiB.
    std::uint64_t max_message_bytes = 1024 * 1024;

    // Memory in WebSocket messages that have begun and not ended, over all sessions of one loop (of
    // one dialer in a client); 0: any amount. Beyond it, the sessions that have held most for
    // longest are closed with 1013 until an eighth is free. As much a ws::blocking_client keeps of
    // messages that nobody has received. Our own choice; 256 messages of the largest size.
    std::uint64_t max_unfinished_message_bytes = 256 * 1024 * 1024;

    // Bytes that one byte of compressed data may become, counted over a body or message of which
    // more than 4 MiB have come out (decompressor::ratio_floor_bytes: pages of blanks are honest);
    // 0: no such limit. Less is bounded by max_body_bytes and max_message_bytes. DEFLATE can do
    // 1,032. Apache's DeflateInflateRatioLimit: 200.
    std::uint32_t max_decompression_ratio = 200;

    // Topics that one WebSocket session may have subscribed to, and the bytes of a name.
    std::size_t max_topics = 100;
    std::size_t max_topic_bytes = 256;

    // Bytes that one connection may have unsent before its reads pause, and that it may send ahead
    // of the answer to its present request (pipelining; requests of one connection are served one
    // after another). A WebSocket client goes on reading until so many of them are its answers.
    // Go's HTTP/2 and Node's stream high-water marks lie between 16 KiB and 1 MiB.
    std::size_t max_unsent_bytes = 1024 * 1024;

    // Connections open at once in one server, shared equally among its loops: at least one for
    // each. Beyond a loop's share, sockets that it accepts are closed at once.
    std::size_t max_connections = 100'000;

    // The same from one address (IPv6: one /64), over all loops. Many clients may share one, or a
    // proxy: by default there is no limit but that above.
    std::size_t max_connections_per_address = 100'000;

    // A PROXY protocol header of version 2, with its extensions. nginx: 4096.
    std::size_t max_proxy_header_bytes = 4096;

    // Proxies that a request may have come by, of those that are believed: so many entries of
    // Forwarded or X-Forwarded-For are looked at, from the right.
    std::size_t max_forwarded_hops = 32;

    // From the first byte of a request to the end of its head; nginx's client_header_timeout is 60
    // s, Apache's mod_reqtimeout 20 s.
    std::chrono::milliseconds header_timeout{20'000};

    // Between two reads of a body. nginx's client_body_timeout: 60 s.
    std::chrono::milliseconds body_timeout{60'000};

    // Bytes a second that a request's body must have brought on the average, once body_rate_grace
    // has passed; 0: any number. Time in which the server held the peer back does not count.
    // Kestrel's MinRequestBodyDataRate: 240; Apache's mod_reqtimeout gives 20 s before.
    std::uint32_t min_body_rate = 240;
    std::chrono::milliseconds body_rate_grace{20'000};

    // The same for a WebSocket message that a server receives, from its first frame to its last,
    // over the payload as it is sent (compressed, where it is); 0: any number. A session whose peer
    // is slower is closed with 1008. Peers that keep one message open for long, a fragment now and
    // then, need 0.
    std::uint32_t min_message_rate = 240;
    std::chrono::milliseconds message_rate_grace{20'000};

    // A connection without a request in progress. nginx's keepalive_timeout: 75 s.
    std::chrono::milliseconds idle_timeout{75'000};

    // Between two successful writes while bytes are waiting. nginx's send_timeout: 60 s.
    std::chrono::milliseconds write_timeout{60'000};

    // Bytes a second that a server's peer must take on the average, of a response, of several that
    // it has not taken between them, or of a WebSocket's messages, once bytes have waited for room
    // in its socket for send_rate_grace; 0: any number. Only the time in which bytes wait counts,
    // so that a response which has nothing to say costs its peer nothing. A slower peer is reset:
    // at the latest write_timeout after that. What the kernel takes without waiting counts as
    // taken. Kestrel's MinResponseDataRate and IIS' minBytesPerSecond: 240.
    std::uint32_t min_send_rate = 240;
    std::chrono::milliseconds send_rate_grace{20'000};

    // From a whole request to its handler's send() (or start_body()); then the answer is 503 and
    // the connection ends. Off (0) by default: only the application knows how long its own work may
    // take.
    std::chrono::milliseconds handler_timeout{0};

    // From our close frame to the peer's (RFC 6455 section 7.1.1), and lingering after an error
    // reply (RFC 9112 section 9.6). While a WebSocket's peer takes what was sent before, this does
    // not run; but write_timeout is then the most for all of it.
    std::chrono::milliseconds close_timeout{5'000};
};

}  // namespace wire
