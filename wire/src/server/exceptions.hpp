// What becomes of exceptions that leave users' functions.
//
// A handler owns its response, so that an exception which leaves the handler destroys the response
// before anybody has caught the exception. Where there is an on_exception, response::~response()
// gives the exchange to exceptions::keep() instead of answering, and caught() hands both over:
//
//   kept     by                                left by
//   no one   -                                 keep(): an exception destroys a response
//   one      exceptions, on the loop's thread  caught(): -> on_exception; flush(): -> 500, at the
//                                              end of the loop iteration or before the next
//                                              handler, when it was the handler that caught it
//
// The exchange of a coroutine carries the coroutine's number, as others may run before its
// exception is caught.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "wire/base/function.hpp"
#include "wire/loop/iteration_hook.hpp"
#include "wire/server/response.hpp"

namespace wire::http::detail {

class worker;
struct exchange;
struct loop_handle;

// One for each loop; all on the loop's thread.
class exceptions final : private iteration_hook {
public:
    // `owner` must outlive it.
    explicit exceptions(worker& owner) noexcept
        : iteration_hook([](iteration_hook& h) noexcept { static_cast<exceptions&>(h).flush(); }),
          owner_(&owner) {}
    // Precondition: flush() was called while there was a loop.
    ~exceptions() = default;

    // Keeps an exchange whose response an exception destroys; false when it is not wanted.
    bool keep(exchange* e) noexcept;
    // A handler or callback begins: what is kept is not its own.
    void begin() noexcept {
        if (kept_ != nullptr) flush();
    }
    // An exception has left what began last or, with a number, that coroutine.
    void caught(std::exception_ptr why, std::uint64_t coroutine) noexcept;
    // Answers 500 for what is kept.
    void flush() noexcept;

private:
    worker* owner_;
    exchange* kept_ = nullptr;
};

// Gives `why` to the user's function, which is there, with `e` or, when that is null, an empty
// response. Any thread.
void tell_of_exception(loop_handle& handle, exchange* e, std::exception_ptr why) noexcept;
// As exceptions::caught(), from any thread.
void exception_left_callback(loop_handle& handle, std::exception_ptr why) noexcept;
// Of a handler that ran on another thread than the loop's, where the exception has destroyed the
// response, which answers 500: told on the loop's thread.
void exception_left_thread(const std::shared_ptr<loop_handle>& handle,
                           std::exception_ptr why) noexcept;
// Before a callback, from any thread.
void callback_begins(loop_handle& handle) noexcept;

// Calls a user's function; false when an exception left it: `f` is then destroyed, with what it
// owns, before the exception is caught. `f` is empty while it runs. Any thread.
template <typename... Args>
bool shielded(loop_handle& handle, unique_function<void(Args...)>& f, Args... args) noexcept {
    callback_begins(handle);
    try {
        auto running = std::move(f);
        running(args...);
        f = std::move(running);
        return true;
    } catch (...) {
        exception_left_callback(handle, std::current_exception());
        return false;
    }
}

}  // namespace wire::http::detail
