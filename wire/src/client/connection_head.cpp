// What a connection of an HTTP client writes before a request's body.
#include "connection.hpp"
#include "wire/proto/http_writer.hpp"

namespace wire::http {

namespace {

bool is_own_field(std::string_view name) noexcept {
    return equals_ignoring_case(name, "content-length") ||
           equals_ignoring_case(name, "transfer-encoding") ||
           equals_ignoring_case(name, "connection");
}

}  // namespace

// Writes the head, which does not depend on the answers to requests before it. On an error nothing
// is written.
errc client_connection::write_request(const client_job& job) {
    const client_request& r = job.request;
    const url& to = job.url;
    // RFC 9112 section 3.2.2 asks for the whole URL where a proxy is sent the request.
    auto head = origin_->forwarded
                    ? head_writer::request(out(), to_string(r.method),
                                           to.scheme + "://" + to.authority() + to.target)
                    : head_writer::request(out(), to_string(r.method), to.target);
    bool has_host = false;
    bool has_te = false;
    bool has_user_agent = false;
    bool has_proxy_authorization = false;
    for (const auto& [name, value] : r.headers) {
        has_host = has_host || equals_ignoring_case(name, "host");
        has_te = has_te || equals_ignoring_case(name, "te");
        has_user_agent = has_user_agent || equals_ignoring_case(name, "user-agent");
        has_proxy_authorization =
            has_proxy_authorization || equals_ignoring_case(name, "proxy-authorization");
    }
    if (!has_host) head.field("Host", origin_->forwarded ? to.authority() : origin_->authority);
    if (origin_->forwarded && !origin_->to.proxy->authorization.empty() &&
        !has_proxy_authorization) {
        head.field("Proxy-Authorization", origin_->to.proxy->authorization);
    }
    if (!owner_->options().user_agent.empty() && !has_user_agent)
        head.field("User-Agent", owner_->options().user_agent);
    for (const auto& [name, value] : r.headers) {
        // RFC 9110 section 11.7.2: for the next proxy, not for whom its tunnel leads to.
        const bool of_proxy =
            origin_->to.tunnelled && equals_ignoring_case(name, "proxy-authorization");
        if (is_own_field(name) || of_proxy) continue;
        head.field(name, value);
    }
    if (has_te) head.field("Connection", "TE");  // RFC 9110 section 10.1.4
    if (job.plan != nullptr) head.raw(job.plan->fields);
    if (r.source) {
        if (r.source.length) {
            head.field("Content-Length", *r.source.length);
        } else {
            head.field("Transfer-Encoding", "chunked");
        }
        if (expects_continue(r)) head.field("Expect", "100-continue");
    } else if (!r.body.empty() || r.method == method::post || r.method == method::put ||
               r.method == method::patch) {
        head.field("Content-Length", r.body.size());
    }
    return head.finish();
}

}  // namespace wire::http
