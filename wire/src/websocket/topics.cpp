// Publish and subscribe over several loops.
//
//   topic_hub     one for each set of topics: its members, by loop. The mutex guards that map and
//                 nothing else.
//   topic_member  one for each loop with subscribers: its topics, by name. Used on that loop's
//                 thread without a lock.
//   topic_entry   one topic on one loop: an intrusive list of subscriptions.
//   subscription  one session in one topic, owned by the session (session_core::extras).
//
// Created downwards by subscribe(). Destroyed upwards: the last subscription of a topic erases its
// entry, the last entry its member, and the hub goes with the last ws::topics or member.
#include "wire/websocket/topics.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "session_core.hpp"
#include "wire/proto/ws_frame.hpp"

namespace wire::ws {

namespace detail {

struct topic_member;

struct topic_entry {
    topic_member* in;
    const std::string* name;  // the key under which it is kept
    subscription* first = nullptr;
};

struct published {
    std::string topic;
    std::string frame;  // as a server sends it: unmasked
    std::size_t payload_at;
    opcode op;
};

// There as long as it has subscriptions, and so no longer than the loop.
struct topic_member {
    topic_member(std::shared_ptr<topic_hub> h, event_loop* l) : of(std::move(h)), loop(l) {}

    std::shared_ptr<topic_hub> of;
    event_loop* loop;
    std::map<std::string, topic_entry, std::less<>> entries{};

    void deliver(const published& m, const session* but);
    void erase_empty(topic_entry& e) noexcept;
};

struct topic_hub {
    explicit topic_hub(slow_subscriber p) : policy(p) {}

    slow_subscriber policy;
    std::mutex mutex;
    std::map<event_loop*, std::unique_ptr<topic_member>> members{};  // guarded by mutex

    topic_member* find(event_loop* loop) {
        const std::lock_guard lock(mutex);
        const auto found = members.find(loop);
        return found != members.end() ? found->second.get() : nullptr;
    }
};

subscription::subscription(session_core& s, topic_entry& e) noexcept
    : to(&s), of(&e), next(e.first) {
    if (next != nullptr) next->previous = this;
    e.first = this;
}

subscription::~subscription() {
    if (next != nullptr) next->previous = previous;
    (previous != nullptr ? previous->next : of->first) = next;
    if (of->first == nullptr) of->in->erase_empty(*of);
}

void topic_member::erase_empty(topic_entry& e) noexcept {
    entries.erase(entries.find(*e.name));
    if (!entries.empty()) return;
    const std::shared_ptr<topic_hub> alive = of;  // this may be the last to hold it
    const std::lock_guard lock(alive->mutex);
    alive->members.erase(loop);
}

// Nothing here calls back, so that no session leaves the list meanwhile.
void topic_member::deliver(const published& m, const session* but) {
    const auto found = entries.find(m.topic);
    if (found == entries.end()) return;
    for (subscription* s = found->second.first; s != nullptr; s = s->next) {
        session_core& to = *s->to;
        if (&to == but) continue;
        if (!to.congested) {
            to.send_framed(m.frame, m.payload_at, m.op);
        } else if (of->policy == slow_subscriber::close) {
            to.begin_close(close_code::try_again_later, "too slow");
        }
    }
}

}  // namespace detail

namespace {

// `from` may be null.
void publish_in(const std::shared_ptr<detail::topic_hub>& hub, const session* from,
                std::string_view topic, std::string_view data, opcode op) {
    char header[max_frame_header_bytes];
    const std::size_t header_size = write_frame_header(header, op, data.size(), true, std::nullopt);
    std::string frame(header, header_size);
    frame += data;
    const auto shared = std::make_shared<const detail::published>(
        detail::published{std::string(topic), std::move(frame), header_size, op});
    // Of this thread: it may run several loops, one after the other.
    std::vector<detail::topic_member*> here;
    {
        // Loops stay while they have a member, and members while the lock is held.
        const std::lock_guard lock(hub->mutex);
        for (const auto& [loop, m] : hub->members) {
            if (loop->in_loop_thread()) {
                here.push_back(m.get());
                continue;
            }
            loop->post([hub, loop = loop, shared] {
                if (detail::topic_member* const there = hub->find(loop); there != nullptr)
                    there->deliver(*shared, nullptr);
            });
        }
    }
    for (detail::topic_member* const m : here) m->deliver(*shared, from);
}

}  // namespace

topics::topics(slow_subscriber policy) : hub_(std::make_shared<detail::topic_hub>(policy)) {}

result<void> topics::subscribe(session& s, std::string_view topic) const {
    if (!s.is_open()) return errc::stopped;
    detail::session_core& core = detail::core_of(s);
    if (topic.size() > core.bounds->max_topic_bytes)
        return error(errc::bad_argument, "topic's name too long");
    auto& mine = core.subscriptions();
    for (const auto& one : mine) {
        if (one->of->in->of == hub_ && *one->of->name == topic) return {};
    }
    if (mine.size() >= core.bounds->max_topics) return errc::too_many_topics;
    detail::topic_member* here = nullptr;
    {
        const std::lock_guard lock(hub_->mutex);
        auto& place = hub_->members[&s.loop()];
        if (place == nullptr) place = std::make_unique<detail::topic_member>(hub_, &s.loop());
        here = place.get();
    }
    const auto at = here->entries.try_emplace(std::string(topic)).first;
    at->second.in = here;
    at->second.name = &at->first;
    mine.push_back(std::make_unique<detail::subscription>(core, at->second));
    return {};
}

bool topics::unsubscribe(session& s, std::string_view topic) const {
    auto& mine = detail::core_of(s).subscriptions();
    const auto found = std::find_if(mine.begin(), mine.end(), [&](const auto& one) {
        return one->of->in->of == hub_ && *one->of->name == topic;
    });
    if (found == mine.end()) return false;
    std::swap(*found, mine.back());
    mine.pop_back();
    return true;
}

void topics::publish(std::string_view topic, std::string_view data, opcode op) const {
    publish_in(hub_, nullptr, topic, data, op);
}

void topics::publish_from(const session& from, std::string_view topic, std::string_view data,
                          opcode op) const {
    publish_in(hub_, &from, topic, data, op);
}

}  // namespace wire::ws
