#include "wire/websocket/topics.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "subscription.hpp"
#include "wire/proto/ws_frame.hpp"

namespace wire::ws {

// One topic on one loop.
struct topics::entry {
    member* in;
    const std::string* name;  // the key under which it is kept
    detail::subscription* first = nullptr;
};

// One loop's topics. Used on that loop's thread only; there as long as it has subscriptions, and so
// no longer than the loop.
struct topics::member {
    member(std::shared_ptr<hub> h, event_loop* l) : of(std::move(h)), loop(l) {}

    std::shared_ptr<hub> of;
    event_loop* loop;
    std::map<std::string, entry, std::less<>> entries{};

    void deliver(const message& m, const session* but);
    void erase_empty(entry& e) noexcept;
};

struct topics::hub {
    explicit hub(slow_subscriber p) : policy(p) {}

    slow_subscriber policy;
    std::mutex mutex;
    std::map<event_loop*, std::unique_ptr<member>> members{};  // guarded by mutex

    member* find(event_loop* loop) {
        const std::lock_guard lock(mutex);
        const auto found = members.find(loop);
        return found != members.end() ? found->second.get() : nullptr;
    }
};

struct topics::message {
    std::string topic;
    std::string frame;  // as a server sends it: unmasked
    std::size_t payload_at;
    opcode op;
};

namespace detail {

subscription::subscription(session& s, topics::entry& e) noexcept : to(&s), of(&e), next(e.first) {
    if (next != nullptr) next->previous = this;
    e.first = this;
}

subscription::~subscription() {
    if (next != nullptr) next->previous = previous;
    (previous != nullptr ? previous->next : of->first) = next;
    if (of->first == nullptr) of->in->erase_empty(*of);
}

}  // namespace detail

void topics::member::erase_empty(entry& e) noexcept {
    entries.erase(entries.find(*e.name));
    if (!entries.empty()) return;
    const std::shared_ptr<hub> alive = of;  // this may be the last to hold it
    const std::lock_guard lock(alive->mutex);
    alive->members.erase(loop);
}

// Nothing here calls back, so that nobody leaves the list meanwhile.
void topics::member::deliver(const message& m, const session* but) {
    const auto found = entries.find(m.topic);
    if (found == entries.end()) return;
    for (detail::subscription* s = found->second.first; s != nullptr; s = s->next) {
        session& to = *s->to;
        if (&to == but) continue;
        if (!to.is_congested()) {
            to.send_framed(m.frame, m.payload_at, m.op);
        } else if (of->policy == slow_subscriber::close) {
            to.close(close_code::try_again_later, "too slow");
        }
    }
}

topics::topics(slow_subscriber policy) : hub_(std::make_shared<hub>(policy)) {}

result<void> topics::subscribe(session& s, std::string_view topic) const {
    if (!s.is_open()) return errc::stopped;
    if (topic.size() > s.limits_->max_topic_bytes)
        return error(errc::bad_argument, "topic's name too long");
    auto& mine = s.subscriptions();
    for (const auto& one : mine) {
        if (one->of->in->of == hub_ && *one->of->name == topic) return {};
    }
    if (mine.size() >= s.limits_->max_topics) return errc::too_many_topics;
    member* here = nullptr;
    {
        const std::lock_guard lock(hub_->mutex);
        auto& place = hub_->members[&s.loop()];
        if (place == nullptr) place = std::make_unique<member>(hub_, &s.loop());
        here = place.get();
    }
    const auto at = here->entries.try_emplace(std::string(topic)).first;
    at->second.in = here;
    at->second.name = &at->first;
    mine.push_back(std::make_unique<detail::subscription>(s, at->second));
    return {};
}

bool topics::unsubscribe(session& s, std::string_view topic) const {
    auto& mine = s.subscriptions();
    const auto found = std::find_if(mine.begin(), mine.end(), [&](const auto& one) {
        return one->of->in->of == hub_ && *one->of->name == topic;
    });
    if (found == mine.end()) return false;
    std::swap(*found, mine.back());
    mine.pop_back();
    return true;
}

void topics::publish(std::string_view topic, std::string_view data, opcode op) const {
    publish(nullptr, topic, data, op);
}

void topics::publish_from(const session& from, std::string_view topic, std::string_view data,
                          opcode op) const {
    publish(&from, topic, data, op);
}

void topics::publish(const session* from, std::string_view topic, std::string_view data,
                     opcode op) const {
    char header[max_frame_header_bytes];
    const std::size_t header_size = write_frame_header(header, op, data.size(), true, std::nullopt);
    std::string frame(header, header_size);
    frame += data;
    const auto shared = std::make_shared<const message>(
        message{std::string(topic), std::move(frame), header_size, op});
    member* here = nullptr;
    {
        // Loops stay while they have a member, and members while the lock is held.
        const std::lock_guard lock(hub_->mutex);
        for (const auto& [loop, m] : hub_->members) {
            if (loop->in_loop_thread()) {
                here = m.get();
                continue;
            }
            loop->post([hub = hub_, loop = loop, shared] {
                if (member* const there = hub->find(loop); there != nullptr)
                    there->deliver(*shared, nullptr);
            });
        }
    }
    if (here != nullptr) here->deliver(*shared, from);
}

}  // namespace wire::ws
