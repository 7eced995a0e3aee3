// Keeps answers of name look-ups: see name_cache.hpp for the states of a name.
#include "name_cache.hpp"

#include <algorithm>
#include <utility>

namespace wire::detail {

namespace {

constexpr std::chrono::milliseconds longest = std::chrono::hours(24);

std::string name_of(const std::string& host, std::uint16_t port) {
    return host + ":" + std::to_string(port);
}

}  // namespace

name_cache::name_cache(event_loop& loop, resolver& names, const name_cache_options& options,
                       std::function<time_point()> now)
    : loop_(&loop), names_(&names), options_(options), now_(std::move(now)) {}

const std::vector<address>* name_cache::resolve(const std::string& host, std::uint16_t port,
                                                const resolver::look_up& how,
                                                unique_function<bool()> wanted,
                                                resolver::callback done) {
    const std::string name = name_of(host, port);
    if (const auto at = kept_.find(name); at != kept_.end()) {
        if (now_() >= at->second.until) {
            kept_.erase(at);
        } else if (at->second.found) {
            return &*at->second.found;
        } else {
            loop_->post([done = std::move(done), why = at->second.found.error()]() mutable {
                done(std::move(why));
            });
            return nullptr;
        }
    }
    const auto [asked, first] = asked_.try_emplace(name);
    asked->second.push_back({std::move(wanted), std::move(done)});
    if (first) {
        names_->resolve(
            host, port, how, [this, name] { return is_wanted(name); },
            [this, name](const answer& a) { answered(name, a); });
    }
    return nullptr;
}

bool name_cache::is_wanted(const std::string& name) {
    auto& askers = asked_.find(name)->second;
    return std::any_of(askers.begin(), askers.end(), [](asker& a) { return a.wanted(); });
}

void name_cache::drop(const std::string& host, std::uint16_t port) {
    kept_.erase(name_of(host, port));
}

// Those who are told may ask at once for the same name.
void name_cache::answered(const std::string& name, const answer& found) {
    keep(name, found);
    auto waiting = asked_.extract(name);
    for (asker& a : waiting.mapped()) a.done(found);
}

void name_cache::keep(const std::string& name, const answer& found) {
    const bool none = found && found->empty();
    const bool useful = found && !none;
    if (options_.lifetime.count() <= 0 || options_.max_names == 0) return;
    // Other errors are the host's own, such as too many open files.
    if (!found && found.code() != errc::not_resolved) return;
    const auto life = std::min(useful ? options_.lifetime : options_.failure_lifetime, longest);
    if (life.count() <= 0) return;
    if (kept_.size() >= options_.max_names) {
        kept_.erase(std::min_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
            return a.second.until < b.second.until;
        }));
    }
    const answer kept = none ? error(errc::not_resolved, "no address") : found;
    kept_.insert_or_assign(name, entry{now_() + life, kept});
}

}  // namespace wire::detail
