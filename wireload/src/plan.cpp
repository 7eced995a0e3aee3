#include "plan.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/resource.h>

#include <fmt/format.h>

#include "wire/loop/socket.hpp"

namespace wireload {
namespace {

// Descriptors that are not connections: standard streams, and for each thread a loop; a few to spare.
std::uint64_t other_files(const options& asked) { return 32 + 4 * std::uint64_t{asked.threads}; }

std::string raise_file_limit(const options& asked) {
    const std::uint64_t wanted = asked.connections + other_files(asked);
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted) return {};
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max >= wanted) return {};
    return fmt::format(
        "{} connections need {} open files and this process may have {}. Give at most {} with -c, or raise the limit: ulimit -n {} "
        "(as root, or in /etc/security/limits.conf)",
        asked.connections, wanted, files.rlim_max,
        files.rlim_max > other_files(asked) ? files.rlim_max - other_files(asked) : 0, wanted);
}

std::string check_cpus(const options& asked) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
    for (const int cpu : asked.cpus) {
        if (cpu < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) continue;
        return fmt::format("--cpu: this process may not run on CPU {}; those it may are in /proc/self/status, Cpus_allowed_list", cpu);
    }
    return {};
}

// Whether somebody accepts there. Only asked when a name has several addresses.
bool answers(const wire::address& at, std::chrono::nanoseconds timeout) {
    auto socket = wire::connect_tcp(at);
    if (!socket) return false;
    pollfd decided{.fd = socket->get(), .events = POLLOUT, .revents = 0};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
    return poll(&decided, 1, static_cast<int>(std::min<std::int64_t>(ms, 5'000))) == 1 &&
           wire::take_socket_error(socket->get()) == wire::errc::none;
}

}  // namespace

std::variant<std::unique_ptr<plan>, std::string> make_plan(options asked) {
    auto out = std::make_unique<plan>();
    out->asked = std::move(asked);
    const options& o = out->asked;

    if (std::string problem = check_cpus(o); !problem.empty()) return problem;
    auto url = wire::parse_url(o.url);
    if (!url) return fmt::format("{}: {}; a URL looks like http://127.0.0.1:8080/path", o.url, url.error().message);
    out->url = *url;
    auto addresses = wire::resolve(out->url.host, out->url.port);
    if (!addresses) return fmt::format("{}: {}; check the name, or give an address", out->url.host, addresses.error().message);
    out->server = addresses->front();
    if (addresses->size() > 1) {
        // "localhost" is ::1 first and then 127.0.0.1: take the first at which somebody listens.
        for (const wire::address& a : *addresses) {
            if (!answers(a, o.timeout)) continue;
            out->server = a;
            break;
        }
    }
    if (o.tls) {
        wire::tls::client_options tls;
        tls.ca_file = o.tls->ca_file;
        tls.insecure = o.tls->insecure;
        tls.certificate_file = o.tls->certificate_file;
        tls.key_file = o.tls->key_file;
        tls.server_name = o.tls->server_name;
        tls.protocols = o.tls->protocols;
        if (o.tls->only_1_2) tls.max_version = wire::tls::version::tls_1_2;
        tls.resume = o.tls->reuse_sessions;
        tls.single_use_tickets = false;  // every connection is to have one, also when many open at once
        auto context = wire::tls::client_context::create(tls);
        if (!context) return fmt::format("TLS: {}", context.error().message);
        // A name that no server can have is known here, not at the first connection.
        if (auto tried = (*context)->connect(out->url.host, out->url.port); !tried) return fmt::format("TLS: {}", tried.error().message);
        out->tls = *std::move(context);
    }
    if (std::string problem = raise_file_limit(o); !problem.empty()) return problem;

    out->ports = local_port_range();
    auto sources = choose_sources(o, out->server, out->ports);
    if (auto* problem = std::get_if<std::string>(&sources)) return std::move(*problem);
    out->sources = std::get<std::vector<wire::address>>(std::move(sources));
    out->choose_ports = should_choose_ports(o, out->ports);

    // Replies are compared as they come, so a large body costs no memory; its length is bounded all the same.
    out->limits.max_body_bytes = std::uint64_t{1} << 40;
    if (o.websocket) {
        out->message = message_template(o.message, o.binary);
        for (const auto& [name, value] : o.headers) out->upgrade_fields.push_back({name, value});
    } else {
        out->method = wire::http::method_from(o.method);
        out->request = serialise_request(o, out->url);
    }
    return out;
}

}  // namespace wireload
