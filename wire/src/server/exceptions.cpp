// Hands exceptions of users' functions to server_options::on_exception; exceptions.hpp has the
// states.
#include "exceptions.hpp"

#include "exchange.hpp"
#include "worker.hpp"

namespace wire::http::detail {

bool exceptions::keep(exchange* e) noexcept {
    if (!e->handle->on_exception || kept_ != nullptr) return false;
    kept_ = e;
    owner_->loop().at_iteration_end(*this);
    return true;
}

void exceptions::caught(std::exception_ptr why, std::uint64_t coroutine) noexcept {
    if (loop_metrics* const counts = owner_->counts(); counts != nullptr) counts->exceptions.add();
    loop_handle& handle = owner_->handle_of_loop();
    if (!handle.on_exception) return;
    const bool is_its_own = kept_ != nullptr && (coroutine == 0 || kept_->coroutine == coroutine);
    tell_of_exception(handle, is_its_own ? std::exchange(kept_, nullptr) : nullptr, std::move(why));
}

void exceptions::flush() noexcept {
    if (kept_ == nullptr) return;
    response res = response_access::holding(std::exchange(kept_, nullptr));
    response_access::of(res).fail(500);
    res.send();
}

void tell_of_exception(loop_handle& handle, exchange* e, std::exception_ptr why) noexcept {
    if (e != nullptr) e->start_afresh(500);
    try {
        handle.on_exception(response_access::holding(e), std::move(why));
    } catch (...) {}
}

void exception_left_callback(loop_handle& handle, std::exception_ptr why) noexcept {
    if (handle.is_here()) {
        handle.owner->exceptions().caught(std::move(why), 0);
    } else if (handle.on_exception) {
        tell_of_exception(handle, nullptr, std::move(why));
    }
}

void exception_left_thread(const std::shared_ptr<loop_handle>& handle,
                           std::exception_ptr why) noexcept {
    const std::lock_guard lock(handle->mutex);
    if (handle->loop == nullptr) return;
    handle->loop->post([handle, why = std::move(why)]() mutable {
        exceptions& there = handle->owner->exceptions();
        there.begin();
        there.caught(std::move(why), 0);
    });
}

void callback_begins(loop_handle& handle) noexcept {
    if (handle.is_here()) handle.owner->exceptions().begin();
}

}  // namespace wire::http::detail
