// One function for each parser: what it says of some bytes must not depend on how they are cut, it
// must never ask for more than it is given or use up more than there is, and what it accepts must
// satisfy what its header promises. Called by libFuzzer (preset fuzz) and, with the corpus and its
// mutations, by the ordinary tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wire::fuzz {

void request(std::string_view input);
void response(std::string_view input);
void frames(std::string_view input);
void text(std::string_view input);  // URL, percent-encoding, Base64, UTF-8
void inflate(std::string_view input);
void unpack(std::string_view input);
void forms(std::string_view input);       // multipart/form-data, queries, cookies
void handshake(std::string_view input);   // of WebSocket, both roles, with permessage-deflate
void deflate(std::string_view input);     // permessage-deflate written and read again
void conditions(std::string_view input);  // conditional requests, ranges, Accept-Encoding, dates
void set_cookie(std::string_view input);  // what a client keeps
void cookie_file(std::string_view input);
void reference(std::string_view input);    // URL references, queries added
void proxy_bytes(std::string_view input);  // the header of the PROXY protocol
// The answers of a SOCKS5 proxy.
void socks5(std::string_view input);
void forwarded(std::string_view input);
void content_range(std::string_view input);  // what a download continues from
// Challenges of HTTP authentication, and the answers to those of Digest.
void challenges(std::string_view input);
void mended_head(std::string_view input);  // heads of responses, as lenient clients read them
void tls_records(std::string_view input);  // of a peer that has the keys

struct target {
    std::string_view name;  // also the folder of its corpus
    void (*run)(std::string_view);
};
inline constexpr target targets[] = {{"request", request},
                                     {"response", response},
                                     {"frames", frames},
                                     {"text", text},
                                     {"inflate", inflate},
                                     {"unpack", unpack},
#if !defined(WIRE_WITHOUT_MULTIPART) && !defined(WIRE_WITHOUT_COOKIES)
                                     {"forms", forms},
#endif
                                     {"handshake", handshake},
                                     {"deflate", deflate},
                                     {"conditions", conditions},
#ifndef WIRE_WITHOUT_COOKIES
                                     {"set_cookie", set_cookie},
                                     {"cookie_file", cookie_file},
#endif
                                     {"reference", reference},
                                     {"proxy_bytes", proxy_bytes},
                                     {"socks5", socks5},
                                     {"forwarded", forwarded},
                                     {"content_range", content_range},
                                     {"challenges", challenges},
#ifndef WIRE_WITHOUT_TLS
                                     {"tls_records", tls_records},
#endif
                                     {"mended_head", mended_head}};

}  // namespace wire::fuzz
