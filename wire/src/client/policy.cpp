// Redirects, retries, cookies and decoding: what a client does about a reply besides handing it
// out. The decisions and their order are listed in policy.hpp.
#include "policy.hpp"

#include <sys/random.h>

#include <algorithm>

#include "connection.hpp"
#include "proto/body_coding.hpp"
#include "reply_access.hpp"
#include "unix_time.hpp"
#include "wire/proto/detail/splitmix64.hpp"
#include "wire/proto/lenient_date.hpp"
#include "wire/proto/url.hpp"

namespace wire::http {

namespace {

using access = detail::reply_access;

client_plan& plan_of(client_job& job) {
    if (job.plan == nullptr) job.plan = std::make_unique<client_plan>();
    return *job.plan;
}

bool is_redirect(int status) noexcept {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

template <typename... Names> void drop_fields(client_request& r, Names... names) {
    std::erase_if(r.headers, [&](const auto& field) {
        return (equals_ignoring_case(field.first, names) || ...);
    });
}

bool has_field(const client_request& r, std::string_view name) {
    return std::any_of(r.headers.begin(), r.headers.end(),
                       [&](const auto& field) { return equals_ignoring_case(field.first, name); });
}

// Some servers send characters that may not stand in a URL. They mean them encoded, as browsers do.
std::string encode_invalid(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c <= ' ' || c >= 0x7F) {
            out += percent_encode({&c, 1});
        } else {
            out += c;
        }
    }
    return out;
}

// RFC 9110 section 15.4.
bool becomes_get(const client_request& r, int status) noexcept {
    return status == 303 ? r.method != method::head && r.method != method::get
                         : (status == 301 || status == 302) && r.method == method::post;
}

// A GET needs nothing of a body that cannot be had again.
bool may_follow(const client_job& job, int status) noexcept {
    return job.repeatable() || (!job.streamed->committed && becomes_get(job.request, status));
}

// What becomes of the method, and with it of the body and the fields that describe it.
void change_method(client_request& r, int status) {
    if (!becomes_get(r, status)) return;
    r.method = method::get;
    r.body = {};
    r.source = {};
    drop_fields(r, "content-type", "content-encoding", "content-language", "content-location",
                "content-range", "content-digest", "digest", "last-modified", "expect");
}

bool is_retried(const retry_options& o, int status) noexcept {
    return std::find(o.statuses.begin(), o.statuses.end(), status) != o.statuses.end();
}

bool worth_another_try(errc code) noexcept {
    switch (code) {
    case errc::refused:
    case errc::reset:
    case errc::closed_early:
    case errc::truncated:
    case errc::timed_out:
    case errc::unreachable:
    case errc::not_resolved: return true;
    default: return false;
    }
}

}  // namespace

std::chrono::milliseconds backoff(const retry_options& options, unsigned n,
                                  std::uint64_t random) noexcept {
    std::int64_t most = std::max<std::int64_t>(options.first_pause.count(), 0);
    const std::int64_t cap =
        std::max<std::int64_t>(wire::detail::capped(options.max_pause).count(), 0);
    for (; n > 1 && most > 0 && most < cap; --n) most *= 2;
    most = std::min(most, cap);
    return std::chrono::milliseconds(random % (static_cast<std::uint64_t>(most) + 1));
}

std::optional<std::chrono::seconds> parse_retry_after(std::string_view value,
                                                      std::int64_t now) noexcept {
    constexpr std::int64_t most = 100LL * 366 * 86400;
    if (!value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos) {
        std::int64_t seconds = 0;
        for (const char c : value) seconds = std::min(most, seconds * 10 + (c - '0'));
        return std::chrono::seconds(seconds);
    }
    const auto date = parse_lenient_date(value);
    if (!date) return std::nullopt;
    return std::chrono::seconds(std::clamp<std::int64_t>(*date - now, 0, most));
}

client_policy::client_policy(const client_options& options)
    : options_(&options), random_state_(options.retry.seed) {
    if (options.digest_logins.empty()) return;
    if (const auto good = detail::digest_logins::check(options.digest_logins); !good) {
        refusal_ = good.error();
    } else {
        digest_ = std::make_unique<detail::digest_logins>(options.digest_logins);
    }
}

std::uint64_t client_policy::random() noexcept {
    if (random_state_ == 0) {  // few clients ever get here
        // Cannot be cut short at this size.
        [[maybe_unused]] const auto n = ::getrandom(&random_state_, sizeof random_state_, 0);
    }
    return wire::detail::splitmix64_next(random_state_);
}

void client_policy::begin(client_job& job, time_point now) {
    if (options_->retry.max_retries > 0) plan_of(job).begun = now;
    if (options_->cookies != nullptr || options_->decompress || digest_ != nullptr) plan_of(job);
}

void client_policy::complete(client_job& job) {
    std::string& fields = job.plan->fields;
    fields.clear();
    if (options_->cookies != nullptr && !has_field(job.request, "cookie")) {
        const std::string cookies = options_->cookies->header(job.url, unix_now());
        if (!cookies.empty()) fields += "Cookie: " + cookies + "\r\n";
    }
    if (authenticates(job))
        digest_->append_field(fields, job.url, to_string(job.request.method), job.plan->digest);
    job.plan->decodes =
        options_->decompress && decodes_any_coding() && !has_field(job.request, "accept-encoding");
    if (job.plan->decodes) {
        fields += "Accept-Encoding: ";
        append_decoded_codings(fields);
        fields += "\r\n";
    }
}

// Whether Digest authentication is this request's affair.
bool client_policy::authenticates(const client_job& job) const {
    return digest_ != nullptr && !has_field(job.request, "authorization");
}

namespace {

// 417 is about the expectation alone (RFC 9110 section 10.1.1): the request is sent again without.
bool may_drop_expectation(const client_job& job, const reply& head) noexcept {
    return head.status() == 417 && expects_continue(job.request);
}

}  // namespace

void client_policy::take_cookies(const client_job& job, const reply& head) {
    // An answer whose request was cancelled is nobody's.
    if (options_->cookies != nullptr && job.done)
        options_->cookies->store_all(job.url, head.headers(), unix_now());
}

client_policy::verdict client_policy::judge(client_job& job, result<reply>& got, time_point now) {
    const bool again = job.repeatable();
    // The next request answers the challenge to one that cannot be sent again.
    if (got && got->status() == 401 && authenticates(job) &&
        digest_->take_challenge(job.url, job.plan->digest, got->headers()) && again)
        return verdict::send;
    if (again && got && may_drop_expectation(job, *got)) {
        job.request.expect_continue = false;
        return verdict::send;
    }
    if (again && options_->retry.max_retries > 0 && retry(job, got, now)) return verdict::wait;
    if (!got) return verdict::deliver;
    if (options_->max_redirects > 0 && is_redirect(got->status()) &&
        may_follow(job, got->status())) {
        if (const auto location = got->header("location")) {
            auto refused = follow(job, *got, *location);
            if (!refused) return verdict::send;
            got = *std::move(refused);
            return verdict::deliver;
        }
    }
    if (const errc failed = decode(job, *got); failed != errc::none) {
        got = error(failed, std::string(to_string(job.request.method)) + " " + job.request.url +
                                ": " + std::string(to_string(failed)));
        return verdict::deliver;
    }
    access::set_way(*got, std::move(job.request.url),
                    job.plan != nullptr ? std::move(job.plan->redirects) : std::vector<redirect>());
    return verdict::deliver;
}

bool client_policy::may_act_on(const client_job& job, const reply& head) const {
    if (options_->max_redirects > 0 && is_redirect(head.status()) && head.header("location") &&
        may_follow(job, head.status()))
        return true;
    if (!job.repeatable()) return false;
    if (head.status() == 401 && authenticates(job) &&
        digest_->can_answer(job.url, job.plan->digest, head.headers()))
        return true;
    if (may_drop_expectation(job, head)) return true;
    const retry_options& o = options_->retry;
    return o.max_retries > 0 && job.plan != nullptr && job.plan->retries < o.max_retries &&
           may_repeat(job.request) && is_retried(o, head.status());
}

std::optional<error> client_policy::follow(client_job& job, const reply& got,
                                           std::string_view location) {
    client_plan& plan = plan_of(job);
    client_request& r = job.request;
    const auto refuse = [&](errc code, std::string_view why) {
        return error(code, std::string(to_string(r.method)) + " " + r.url + ": redirected to \"" +
                               std::string(location) + "\": " + std::string(why));
    };
    if (plan.redirects.size() >= options_->max_redirects) {
        return refuse(errc::too_many_redirects,
                      "more than " + std::to_string(options_->max_redirects) + " redirects");
    }
    std::string to = resolve_reference(r.url, encode_invalid(location));
    // RFC 9110 section 10.2.2: a fragment is handed on to a URL that has none.
    if (const auto hash = r.url.find('#');
        hash != std::string::npos && to.find('#') == std::string::npos)
        to += r.url.substr(hash);
    auto parsed = parse_url(to);
    if (!parsed) return refuse(errc::bad_redirect, parsed.error().message);
    if (parsed->websocket()) return refuse(errc::bad_redirect, "not an http:// or https:// URL");
    if (job.url.secure() && !parsed->secure() && !options_->allow_https_to_http) {
        return refuse(errc::bad_redirect, "from https to http, which is not allowed");
    }
    if (parsed->scheme != job.url.scheme || parsed->host != job.url.host ||
        parsed->port != job.url.port) {
        drop_fields(r, "authorization", "cookie", "proxy-authorization", "host");
        for (const std::string& name : options_->credential_fields) drop_fields(r, name);
    }
    change_method(r, got.status());
    plan.digest = {};
    plan.redirects.push_back({got.status(), std::exchange(r.url, std::move(to))});
    job.url = *std::move(parsed);
    return std::nullopt;
}

std::optional<body_decoder> client_policy::decoder_of(const client_job& job, const reply& head,
                                                      const limits& bounds) {
    // A part of a compressed body cannot be decoded without its beginning.
    if (job.plan == nullptr || !job.plan->decodes || head.status() == 206) return std::nullopt;
    std::optional<std::string_view> named;
    for (const header& h : head.headers()) {
        if (!equals_ignoring_case(h.name, "content-encoding")) continue;
        if (named) return std::nullopt;  // the lines are one list, of several codings
        named = h.value;
    }
    return named ? body_decoder::of(*named, bounds) : std::nullopt;
}

errc client_policy::decode(const client_job& job, reply& r) const {
    if (r.body().empty()) return errc::none;  // as one given in pieces is here
    auto decoder = decoder_of(job, r, options_->limits);
    if (!decoder) return errc::none;
    buffer plain;
    std::string_view rest = r.body();
    // In steps: add() reserves storage for as much as it may append.
    while (!rest.empty() || decoder->has_more()) {
        if (const errc failed = decoder->add(rest, 1 << 20, plain); failed != errc::none)
            return failed;
    }
    if (const errc failed = decoder->finish(); failed != errc::none) return failed;
    access::body(r) = std::move(plain);
    access::set_decoded(r, true);
    return errc::none;
}

bool client_policy::retry(client_job& job, const result<reply>& got, time_point now) {
    const retry_options& o = options_->retry;
    client_plan& plan = plan_of(job);
    if (plan.retries >= o.max_retries) return false;
    if (!may_repeat(job.request)) return false;
    clock::duration pause{};
    if (got) {
        if (!is_retried(o, got->status())) return false;
        if (const auto value = got->header("retry-after")) {
            const auto asked = parse_retry_after(*value, unix_now());
            if (asked && *asked > o.max_retry_after) return false;
            if (asked) pause = *asked;
        }
    } else if (got.code() == errc::proxy_failed ? !is_retried(o, job.proxy_refusal)
                                                : !worth_another_try(got.code())) {
        return false;
    }
    pause = std::max<clock::duration>(pause, backoff(o, plan.retries + 1, random()));
    if (now + pause > plan.begun + wire::detail::capped(o.max_total)) return false;
    ++plan.retries;
    plan.pause = pause;
    return true;
}

}  // namespace wire::http
