// What is called for a request: anything that takes a response, plain function or coroutine.
//
//     http::handler plain = [](http::response res) { res.send("hello"); };
//     http::handler waiting = [](http::response res) -> wire::task<> {  // coroutine.hpp
//         co_await wire::sleep_for(res.loop(), std::chrono::seconds(1));
//         res.send("hello");
//     };
//
// Handlers run on the thread of the loop that the request came by; with several loops several
// threads call the same handler at once. They must not block. A handler that throws answers 500,
// or as server_options::on_exception says.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "wire/base/export.hpp"
#include "wire/base/function.hpp"
#include "wire/server/response.hpp"

namespace wire {
template <typename T> class task;
}

namespace wire::http {

namespace detail {

struct loop_handle;
// The loop that a response came by, and the number there of the coroutine that handles it.
struct coroutine_ticket {
    std::shared_ptr<loop_handle> handle;
    std::uint64_t number;
};
// Precondition: `r` is neither sent nor moved from.
WIRE_EXPORT coroutine_ticket number_coroutine(response& r);
// Runs a handler's coroutine on the loop's thread, from any thread: at once on that thread itself.
// Destroys it unrun when the loop is gone.
WIRE_EXPORT void run_handler(const coroutine_ticket& ticket, task<void> handling);

template <typename> constexpr bool is_task = false;
template <typename T> constexpr bool is_task<task<T>> = true;

}  // namespace detail

// A function of a response (and, for router::stream(), of a body_reader) that returns nothing or a
// coroutine's task<>. Move-only; what the callable captures lives as long as the server.
template <typename... More> class handler_of : public unique_function<void(response, More...)> {
    using base = unique_function<void(response, More...)>;

    // `f` itself, or, when it is a coroutine, a function that starts it and hands its task to the
    // loop.
    template <typename F> static decltype(auto) adapted(F&& f) {
        using returned = std::invoke_result_t<std::decay_t<F>&, response, More...>;
        if constexpr (detail::is_task<returned>) {
            static_assert(std::is_same_v<returned, task<void>>,
                          "a handler's task has no result: it sends the response");
            return [f = std::decay_t<F>(std::forward<F>(f))](response res, More... more) mutable {
                const auto ticket = detail::number_coroutine(res);
                detail::run_handler(ticket, f(std::move(res), std::move(more)...));
            };
        } else {
            return std::forward<F>(f);
        }
    }

public:
    // No handler.
    handler_of() noexcept = default;
    handler_of(std::nullptr_t) noexcept {}  // NOLINT
    // Takes anything that can be called so. A result other than a task<> is dropped.
    template <typename F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, handler_of> &&
                 std::is_invocable_v<std::decay_t<F>&, response, More...>)
    handler_of(F&& f) : base(adapted(std::forward<F>(f))) {}  // NOLINT: conversion intended
};

// What server::listen(), start_server() and the routes of a router take.
using handler = handler_of<>;

}  // namespace wire::http
