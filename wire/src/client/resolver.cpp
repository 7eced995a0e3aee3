// One thread for each look-up under way: see resolver.hpp for the states of a look-up.
#include "resolver.hpp"

#include <mutex>
#include <system_error>
#include <utility>

namespace wire::detail {

struct resolver::way_back {
    std::mutex mutex;
    // Guarded by mutex, but for the loop's thread, which alone sets it. Null: nobody waits.
    resolver* to = nullptr;
};

namespace {

resolver::answer look_it_up(const std::string& host, std::uint16_t port,
                            const resolver::look_up& how) {
    try {
        return how(host, port);
    } catch (...) {
        return error(errc::system_error, "open_options::resolve has thrown");
    }
}

}  // namespace

void resolver::stop() noexcept {
    if (back_ == nullptr) return;
    {
        const std::lock_guard lock(back_->mutex);
        back_->to = nullptr;
    }
    waiting_.clear();
    for (auto& [id, look_up] : under_way_) {
        if (!look_up.thread.joinable()) continue;  // none could be started; its answer is posted
        if (look_up.is_users) {
            look_up.thread.join();
        } else {
            look_up.thread.detach();
        }
    }
    under_way_.clear();
}

void resolver::resolve(const std::string& host, std::uint16_t port, look_up how,
                       unique_function<bool()> wanted, callback done) {
    if (back_ == nullptr) {
        // Before a thread starts: later it may be about to post. If it fails, results are noticed
        // a little later.
        [[maybe_unused]] const auto prompt = loop_->core().make_wakeable();
        back_ = std::make_shared<way_back>();
        back_->to = this;
    }
    query q{host, port, std::move(how), std::move(wanted), std::move(done)};
    if (under_way_.size() < most_at_once) {
        begin(std::move(q));
    } else {
        waiting_.push_back(std::move(q));
    }
}

void resolver::begin(query q) {
    const std::uint64_t id = ++last_id_;
    const auto tell = [back = back_, id](answer found) {
        const std::lock_guard lock(back->mutex);
        if (back->to == nullptr) return;
        back->to->loop_->post([back, id, found = std::move(found)]() mutable {
            if (back->to != nullptr) back->to->answered(id, std::move(found));
        });
    };
    std::thread made;
    try {
        made = std::thread([tell, host = q.host, port = q.port, how = q.how ? q.how : systems_] {
            tell(look_it_up(host, port, how));
        });
    } catch (const std::system_error& e) {
        if (!under_way_.empty()) {  // whose ends make room for another thread
            waiting_.push_front(std::move(q));
            return;
        }
        tell(error(errc::system_error, std::string("cannot start a thread: ") + e.what()));
    }
    under_way_.emplace(id, under_way{std::move(made), static_cast<bool>(q.how), std::move(q.done)});
}

void resolver::answered(std::uint64_t id, answer found) {
    auto ended = under_way_.extract(id);
    under_way& it = ended.mapped();
    if (it.thread.joinable()) it.thread.join();  // it has nothing more to do
    while (!waiting_.empty() && under_way_.size() < most_at_once) {
        query next = std::move(waiting_.front());
        waiting_.pop_front();
        if (next.wanted()) {
            const std::size_t before = under_way_.size();
            begin(std::move(next));
            if (under_way_.size() == before) break;  // no thread is to be had
        } else {
            next.done(errc::cancelled);
        }
    }
    it.done(std::move(found));
}

}  // namespace wire::detail
