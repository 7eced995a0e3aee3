#include "plan/plan.hpp"

#include <poll.h>
#include <sched.h>

#include <algorithm>

#include <fmt/format.h>

#include "plan/host_limits.hpp"
#include "wire/loop/socket.hpp"
#include "wire/proto/http_types.hpp"
#include "wire/proto/utf8.hpp"

namespace wireload {
namespace {

unsigned usable_cpus(const options& asked) {
    if (!asked.cpus.empty()) return static_cast<unsigned>(asked.cpus.size());
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return asked.threads;
    return static_cast<unsigned>(CPU_COUNT(&allowed));
}

std::string check_cpus(const options& asked) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
    for (const int cpu : asked.cpus) {
        if (cpu < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) continue;
        return fmt::format(
            "--cpu: this process may not run on CPU {}; those it may are in /proc/self/status, "
            "Cpus_allowed_list",
            cpu);
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

// The string says what is wrong.
std::variant<wire::url, std::string> checked_url(const std::string& text) {
    auto url = wire::parse_url(text);
    if (!url)
        return fmt::format("{}: {}; a URL looks like http://127.0.0.1:8080/path", text,
                           url.error().message);
    return std::move(*url);
}

// The number of the target with the host and port of `url`. Of a WebSocket the path is a part of
// the target, since a connection is opened to it.
std::uint32_t target_for(plan& out, const wire::url& url) {
    for (std::uint32_t i = 0; i < out.targets.size(); ++i) {
        const wire::url& known = out.targets[i].url;
        if (known.scheme == url.scheme && known.host == url.host && known.port == url.port &&
            (!url.websocket() || known.target == url.target))
            return i;
    }
    out.targets.push_back({.url = url, .server = {}});
    return static_cast<std::uint32_t>(out.targets.size() - 1);
}

// Finds the address of each target. Returns which name has none, or an empty text.
std::string look_up(plan& out) {
    for (target& t : out.targets) {
        const auto begun = std::chrono::steady_clock::now();
        auto addresses = wire::resolve(t.url.host, t.url.port);
        out.name_ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begun).count();
        if (!addresses)
            return fmt::format("{}; check the name, or give an address", addresses.error().message);
        t.server = addresses->front();
        if (addresses->size() == 1) continue;
        // "localhost" is ::1 first and then 127.0.0.1: take the first at which somebody listens.
        for (const wire::address& a : *addresses) {
            if (!answers(a, out.asked.timeout)) continue;
            t.server = a;
            break;
        }
    }
    return {};
}

// The frame that is the right reply to every message; empty when they differ, when nothing but a
// reader can tell whether a reply is right, or when none is.
std::string constant_echo(const plan& p) {
    const text_template& sent = p.message.content();
    if (!p.exchanges || p.asked.check != reply_check::echo || !p.asked.keep_alive ||
        !sent.is_constant())
        return {};
    const std::string_view text = sent.constant();
    if (text.size() > send_bytes) return {};  // comes in pieces
    if (p.message.op() == wire::ws::opcode::text && !wire::is_utf8(text)) return {};
    if (p.message_checks.message(text)) return {};
    wire::buffer frame;
    wire::ws::append_frame(frame, p.message.op(), text);
    return std::string(frame.view());
}

// Values are drawn for requests and messages. The handshake that opens a WebSocket is neither.
std::string values_problem(std::string_view what, std::string_view text) {
    const auto parsed = text_template::parse(text);
    const auto* plain = std::get_if<text_template>(&parsed);
    if (plain != nullptr && plain->is_constant()) return {};
    return fmt::format(
        "{}: values such as {{uuid}} are filled in in messages, not in a WebSocket's path and "
        "header fields; leave them out",
        what);
}

std::string plan_messages(plan& out) {
    const options& o = out.asked;
    for (const std::string& text : o.urls) {
        if (std::string problem = values_problem(text, text); !problem.empty()) return problem;
        auto url = checked_url(text);
        if (auto* problem = std::get_if<std::string>(&url)) return std::move(*problem);
        out.target_turns.push_back(target_for(out, std::get<wire::url>(url)));
    }
    auto checks = reply_checks::compile(o.expect);
    if (auto* problem = std::get_if<std::string>(&checks)) return std::move(*problem);
    out.message_checks = std::get<reply_checks>(std::move(checks));
    out.message = message_template(o.message, o.binary);
    out.exchanges = !o.idle && !o.broadcast;
    out.echo_frame = constant_echo(out);
    for (const auto& [name, value] : o.headers) {
        if (std::string problem = values_problem(fmt::format("-H '{}'", name), value);
            !problem.empty())
            return problem;
        for (const char* own : {"Sec-WebSocket-Key", "Sec-WebSocket-Version"}) {
            if (wire::http::equals_ignoring_case(name, own))
                return fmt::format("-H '{}': wireload sets this field itself; leave it out", name);
        }
        if (wire::http::equals_ignoring_case(name, "Host")) {
            out.upgrade_host = value;
        } else {
            out.upgrade_fields.push_back({name, value});
        }
    }
    if (!o.subprotocols.empty())
        out.upgrade_fields.push_back({"Sec-WebSocket-Protocol", o.subprotocols});
    if (o.deflate) {
        out.deflate_offer = wire::ws::deflate_offer(deflate_asked);
        out.upgrade_fields.push_back({"Sec-WebSocket-Extensions", out.deflate_offer});
    }
    return {};
}

std::string add_request(plan& out, const request_options& asked, const wire::url& url) {
    constexpr std::size_t most_in_all = 100'000;
    if (out.requests.size() == most_in_all)
        return fmt::format("the requests times the URLs are more than {}; give fewer", most_in_all);
    const std::uint32_t number = target_for(out, url);
    auto made = prepare_request(asked, url, out.asked.keep_alive || out.asked.per_connection > 1);
    if (auto* problem = std::get_if<std::string>(&made))
        return asked.where.empty() ? std::move(*problem)
                                   : fmt::format("{}: {}", asked.where, *problem);
    auto& request = std::get<prepared_request>(made);
    request.target = number;
    request.index = static_cast<std::uint32_t>(out.requests.size());
    out.requests.push_back(std::move(request));
    return {};
}

// Which connection goes where, and which request follows which.
std::string plan_turns(plan& out) {
    constexpr std::uint64_t longest = 1'000'000;
    std::vector<std::uint32_t> totals;
    for (std::uint32_t t = 0; t < out.targets.size(); ++t) {
        std::vector<std::uint32_t> members, weights;
        std::uint64_t total = 0;
        for (const prepared_request& r : out.requests) {
            if (r.target != t) continue;
            members.push_back(r.index);
            weights.push_back(r.weight);
            total += r.weight;
        }
        if (total > longest)
            return fmt::format(
                "the weights of the requests to one server sum to {}; give smaller ones, {} at "
                "most in all",
                total, longest);
        totals.push_back(static_cast<std::uint32_t>(total));
        std::vector<std::uint32_t> turns = spread(weights);
        for (std::uint32_t& turn : turns) turn = members[turn];
        out.rotations.push_back(std::move(turns));
    }
    // A server whose requests weigh more gets more of the connections.
    out.target_turns = spread(totals);
    if (out.requests.size() == 1) {
        out.requests.front().repeat(out.asked.in_flight);
        out.only = &out.requests.front();
    }
    return {};
}

std::string plan_requests(plan& out) {
    const options& o = out.asked;
    std::vector<wire::url> urls;
    for (const std::string& text : o.urls) {
        auto url = checked_url(text);
        if (auto* problem = std::get_if<std::string>(&url)) return std::move(*problem);
        urls.push_back(std::get<wire::url>(std::move(url)));
        if (!o.rotation.empty() && urls.back().target != "/") {
            return fmt::format(
                "{}: with --requests-file the file says which paths are asked for; give the URL "
                "without one",
                text);
        }
        (void)target_for(out, urls.back());  // before those that the file names
    }
    if (o.rotation.empty()) {
        const request_options each{.url = {},
                                   .path = {},
                                   .method = o.method,
                                   .headers = o.headers,
                                   .body = o.body,
                                   .weight = 1,
                                   .expect = o.expect,
                                   .where = {}};
        for (const wire::url& url : urls) {
            if (std::string problem = add_request(out, each, url); !problem.empty()) return problem;
        }
        return plan_turns(out);
    }
    for (const request_options& r : o.rotation) {
        std::vector<wire::url> at = urls;
        if (!r.url.empty()) {
            auto url = checked_url(r.url);
            if (auto* problem = std::get_if<std::string>(&url))
                return fmt::format("{}: {}", r.where, *problem);
            at = {std::get<wire::url>(std::move(url))};
        }
        for (wire::url& url : at) {
            if (r.url.empty()) {
                // As a part of a URL, so that it is held to the same rules.
                auto whole =
                    checked_url(fmt::format("{}://{}{}", url.scheme, url.authority(), r.path));
                if (auto* problem = std::get_if<std::string>(&whole))
                    return fmt::format("{}: {}", r.where, *problem);
                url = std::get<wire::url>(std::move(whole));
            }
            if (std::string problem = add_request(out, r, url); !problem.empty()) return problem;
        }
    }
    return plan_turns(out);
}

void count_connections(plan& out) {
    for (std::uint32_t i = 0; i < out.asked.connections; ++i) {
        const std::uint32_t number = out.asked.part.in_whole(i);
        ++out.targets[out.target_turns[number % out.target_turns.size()]].connections;
    }
}

}  // namespace

std::variant<std::unique_ptr<plan>, plan_problem> make_plan(options asked) {
    auto out = std::make_unique<plan>();
    out->asked = std::move(asked);
    const options& o = out->asked;

    const auto wrong = [](std::string text) { return plan_problem{std::move(text)}; };
    if (std::string problem = check_cpus(o); !problem.empty()) return wrong(std::move(problem));
    if (std::string problem = o.websocket ? plan_messages(*out) : plan_requests(*out);
        !problem.empty())
        return wrong(std::move(problem));
    out->url = out->targets.front().url;
    if (o.print_request) return out;
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
        // The generator's own cost is not what is measured.
        tls.records = wire::tls::record_layer::wire;
        // Every connection is to have one, also when many open at once.
        tls.single_use_tickets = false;
        auto context = wire::tls::client_context::create(tls);
        if (!context) return wrong(fmt::format("TLS: {}", context.error().message));
        // A name that no server can have is known here, not at the first connection.
        for (const target& t : out->targets) {
            if (!t.url.secure()) continue;
            if (auto tried = (*context)->connect(t.url.host, t.url.port); !tried)
                return wrong(fmt::format("TLS: {}", tried.error().message));
        }
        out->tls = *std::move(context);
    }
    count_connections(*out);
    if (std::string problem = look_up(*out); !problem.empty())
        return plan_problem{.text = std::move(problem), .unresolved = true};
    out->server = out->targets.front().server;
    const std::vector<destination> to = destinations_of(out->targets);
    host_limits host = host_limits::read(false);
    if (may_take_io_uring(o, host.files)) host = host_limits::read(true);
    const auto engine = choose_engine(o, to, host);
    if (const auto* problem = std::get_if<std::string>(&engine)) return wrong(*problem);
    const auto& chosen = std::get<engine_plan>(engine);
    out->engine = chosen.engine;
    out->engine_why = chosen.why;
    out->asked.threads = chosen.threads;
    if (o.broadcast && o.threads > 1)
        return wrong(fmt::format(
            "--broadcast: {} subscribers need {} threads here, and one thread has to see them all; "
            "let it open more files (ulimit -n), or give fewer connections",
            o.connections, o.threads));
    if (o.open_loop && o.open_loop->max_in_flight && *o.open_loop->max_in_flight < o.threads)
        return wrong(fmt::format(
            "--max-in-flight {}: {} connections need {} threads here, and each must be able to "
            "send; give at least {}",
            *o.open_loop->max_in_flight, o.connections, o.threads, o.threads));
    const unsigned usable = usable_cpus(o);
    out->cpus = std::min(o.threads, usable);
    out->quota = cpu_quota::of_process("self");
    const unsigned in_quota = out->quota.usable(usable);
    out->spare_cpus = in_quota - std::min(in_quota, out->cpus);

    out->ports = local_port_range();
    auto sources = choose_sources(o, to, out->ports);
    if (auto* problem = std::get_if<std::string>(&sources)) return wrong(std::move(*problem));
    out->sources = std::get<std::vector<wire::address>>(std::move(sources));
    // A port that we bind serves once, whatever the destination; the kernel's choice, once toward
    // each.
    out->choose_ports = to.size() == 1 && should_choose_ports(o, out->ports);

    // Replies are compared as they come, so a large body costs no memory; its length is bounded all
    // the same.
    out->limits.max_body_bytes = std::uint64_t{1} << 40;
    // A message is gathered before it is looked at. Where we know what is right, far longer ones
    // are refused by their length, so that a server cannot make every connection hold megabytes.
    // (Values in a message take at most some six times their name.)
    out->limits.max_message_bytes = max_message_bytes;
    if (o.websocket && !o.idle && o.check != reply_check::none) {
        out->limits.max_message_bytes = 64 * 1024 + 8 * o.message.size();
        // Of what --deflate inflates, too: that bound is enough, and the echo of a monotonous
        // message is no bomb.
        out->limits.max_decompression_ratio = 0;
    }
    return out;
}

}  // namespace wireload
