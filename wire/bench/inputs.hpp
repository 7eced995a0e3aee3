// What the benchmarks parse: messages as real clients and servers send them, not the smallest
// possible.
#pragma once

#include <string>
#include <string_view>

namespace wire::bench {

// As wrk sends it.
constexpr std::string_view short_get = "GET /route_01 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";

// As a browser asks for a picture: 20 fields, some long.
constexpr std::string_view browser_get =
    "GET /assets/images/products/2024/overview-large@2x.webp?v=8f3a9c1d&width=1280&quality=82 "
    "HTTP/1.1\r\n"
    "Host: www.example-shop.com\r\n"
    "Connection: keep-alive\r\n"
    "Cache-Control: max-age=0\r\n"
    "sec-ch-ua: \"Chromium\";v=\"124\", \"Google Chrome\";v=\"124\", \"Not-A.Brand\";v=\"99\"\r\n"
    "sec-ch-ua-mobile: ?0\r\n"
    "sec-ch-ua-platform: \"Linux\"\r\n"
    "Upgrade-Insecure-Requests: 1\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/124.0.0.0 Safari/537.36\r\n"
    "Accept: "
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/"
    "*;q=0.8\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Sec-Fetch-Mode: no-cors\r\n"
    "Sec-Fetch-User: ?1\r\n"
    "Sec-Fetch-Dest: image\r\n"
    "Referer: "
    "https://www.example-shop.com/products/"
    "overview?session=72c1f8e0-4a7d-4d0b-9c33-1b7a2f6e5d10\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-GB,en;q=0.9,de;q=0.8,fr;q=0.7\r\n"
    "Cookie: session_id=a1b2c3d4e5f60718293a4b5c6d7e8f90; consent=analytics:1|marketing:0; "
    "currency=EUR; "
    "_ga=GA1.2.1234567890.1712345678; cart=3f2504e0-4f89-11d3-9a0c-0305e82c3301\r\n"
    "If-None-Match: \"5f8a7c2e-1b3d4\"\r\n"
    "If-Modified-Since: Tue, 16 Apr 2024 09:41:00 GMT\r\n"
    "DNT: 1\r\n"
    "\r\n";

// As a content network answers: the head only, a body of no bytes.
constexpr std::string_view big_response =
    "HTTP/1.1 200 OK\r\n"
    "Date: Tue, 16 Apr 2024 09:41:00 GMT\r\n"
    "Content-Type: application/javascript; charset=utf-8\r\n"
    "Content-Length: 0\r\n"
    "Connection: keep-alive\r\n"
    "Cache-Control: public, max-age=31536000, immutable, stale-while-revalidate=86400\r\n"
    "Content-Security-Policy: default-src 'self'; script-src 'self' https://cdn.example.net "
    "https://stats.example.org; "
    "style-src 'self' 'unsafe-inline'; img-src * data:; connect-src 'self' wss://live.example.com; "
    "frame-ancestors 'none'; "
    "base-uri 'self'; form-action 'self'; report-uri /csp-report\r\n"
    "Strict-Transport-Security: max-age=63072000; includeSubDomains; preload\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: strict-origin-when-cross-origin\r\n"
    "Permissions-Policy: accelerometer=(), camera=(), geolocation=(), gyroscope=(), "
    "magnetometer=(), microphone=(), payment=()\r\n"
    "ETag: W/\"9c7f3a-18ee6a5b2c0\"\r\n"
    "Last-Modified: Mon, 15 Apr 2024 22:10:05 GMT\r\n"
    "Vary: Accept-Encoding, Origin\r\n"
    "Age: 38211\r\n"
    "X-Cache: HIT, MISS, HIT\r\n"
    "X-Served-By: cache-fra-eddf8230101-FRA, cache-ams21080-AMS\r\n"
    "Via: 1.1 varnish, 1.1 varnish\r\n"
    "X-Timer: S1713260460.182634,VS0,VE1\r\n"
    "Set-Cookie: route=f1a2b3c4d5e6f7; Path=/; Expires=Wed, 16 Apr 2025 09:41:00 GMT; Secure; "
    "HttpOnly; SameSite=Lax\r\n"
    "Alt-Svc: h3=\":443\"; ma=86400\r\n"
    "Server-Timing: cdn-cache;desc=HIT, edge;dur=1\r\n"
    "Access-Control-Allow-Origin: *\r\n"
    "\r\n";

// An upload in `count` chunks of `bytes` each.
inline std::string chunked_request(std::size_t count, std::size_t bytes) {
    std::string out =
        "POST /upload HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nTransfer-Encoding: chunked\r\n\r\n";
    constexpr std::string_view digits = "0123456789abcdef";
    std::string size;
    for (std::size_t left = bytes; left > 0; left /= 16)
        size.insert(size.begin(), digits[left % 16]);
    for (std::size_t i = 0; i < count; ++i) out += size + "\r\n" + std::string(bytes, 'x') + "\r\n";
    return out + "0\r\n\r\n";
}

}  // namespace wire::bench
