// What other people's programs talk to in wire/tests/peers: a server with the routes that their
// tests need, and a client that makes one request, repeats it and says what came.
//
//     wire_peer server PORT [--tls CERTIFICATE KEY [--ocsp FILE]] [--unix PATH] [--proxied]
//     wire_peer activated                       with the sockets of systemd-socket-activate
//     wire_peer client URL [--method M] [--body N] [--chunked] [--expect] [--repeat N]
//                      [--decompress] [--ca FILE [--ocsp]] [--proxy URL] [--tls 1.2|1.3]
//                      [--digest ORIGIN USER PASSWORD]
//
// On SIGUSR2 the server starts itself anew, hands its sockets over, and ends.
//
// The client prints one line of JSON. Exit codes: 0 the last reply came whole, 1 an error, 64 wrong
// arguments.
#include "peer.hpp"

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "wire/client/client.hpp"

namespace {

namespace http = wire::http;
using namespace wire_peer;

struct asked {
    std::string url, method = "GET";
    std::uint64_t body = 0, repeat = 1;
    bool chunked = false, expect = false;
    http::client_options options;
    wire::tls::client_options tls;
};

// False where an argument is not known.
bool read_arguments(int argc, char** argv, asked& to) {
    to.url = argv[2];
    for (int i = 3; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--chunked") {
            to.chunked = true;
        } else if (name == "--expect") {
            to.expect = true;
        } else if (name == "--ocsp") {
            to.tls.ocsp = wire::tls::ocsp_response::required;
        } else if (name == "--decompress") {
            to.options.decompress = true;
        } else if (i + 1 == argc) {
            return false;
        } else if (const std::string value = argv[++i]; name == "--method") {
            to.method = value;
        } else if (name == "--body") {
            to.body = number(value);
        } else if (name == "--repeat") {
            to.repeat = number(value);
        } else if (name == "--ca") {
            to.tls.ca_file = value;
        } else if (name == "--proxy") {
            to.options.proxy = value;
        } else if (name == "--digest" && i + 2 < argc) {
            to.options.digest_logins.push_back({value, argv[i + 1], argv[i + 2]});
            i += 2;
        } else if (name == "--tls") {
            to.tls.min_version = to.tls.max_version =
                value == "1.2" ? wire::tls::version::tls_1_2 : wire::tls::version::tls_1_3;
        } else {
            return false;
        }
    }
    return true;
}

http::client_request request_of(const asked& from) {
    const auto method = from.method == "POST"   ? http::method::post
                        : from.method == "PUT"  ? http::method::put
                        : from.method == "HEAD" ? http::method::head
                                                : http::method::get;
    http::client_request made = http::make_request(method, from.url);
    made.expect_continue = from.expect;
    if (method != http::method::post && method != http::method::put) return made;
    made.headers.emplace_back("Content-Type", "application/octet-stream");
    if (!from.chunked) made.source.length = from.body;
    made.source.pull = [at = std::uint64_t{0}, end = from.body](
                           wire::buffer& out,
                           std::size_t most) mutable -> wire::result<http::source_state> {
        const std::string_view piece = piece_at(at, end).substr(0, most);
        out.append(piece);
        at += piece.size();
        return at == end ? http::source_state::end : http::source_state::more;
    };
    return made;
}

int call(asked from) {
    if (!from.tls.ca_file.empty()) {
        auto context = wire::tls::client_context::create(from.tls);
        if (!context) return fail(context.error());
        from.options.tls = *std::move(context);
    }
    auto client = http::client::create(from.options);
    if (!client) return fail(client.error());
    int status = 0;
    std::size_t redirects = 0;
    bool decoded = false;
    checksum found;
    for (std::uint64_t round = 0; round < from.repeat; ++round) {
        found = {};
        const auto end = client->send(request_of(from), [&](std::string_view piece) {
            found.add(piece);
            return true;
        });
        if (!end) return fail(end.error());
        status = end->status();
        redirects = end->redirects().size();
        decoded = end->decoded();
    }
    std::printf(
        "{\"status\": %d, \"sum\": \"%s\", \"redirects\": %zu, \"decoded\": %s, "
        "\"connections\": %llu}\n",
        status, found.text().c_str(), redirects, decoded ? "true" : "false",
        static_cast<unsigned long long>(client->connections_opened()));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view role = argc >= 2 ? argv[1] : "";
    if (role == "server" || role == "activated" || role == "successor") {
        if (const int code = serve(argc, argv); code != 64) return code;
    }
    asked from;
    if (role == "client" && argc >= 3 && read_arguments(argc, argv, from))
        return call(std::move(from));
    std::fputs("usage: wire_peer server PORT [OPTION...] | activated | client URL [OPTION...]\n",
               stderr);
    return 64;
}
