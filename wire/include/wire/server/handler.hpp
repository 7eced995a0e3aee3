// What is called for a request.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "wire/base/function.hpp"
#include "wire/server/response.hpp"

namespace wire {
template <typename T> class task;
}

namespace wire::http {

namespace detail {

struct loop_handle;
std::shared_ptr<loop_handle> loop_handle_of(const response& r) noexcept;
// Any thread; it runs on the loop's.
void run_handler(const std::shared_ptr<loop_handle>& handle, task<void> handling);

template <typename> constexpr bool is_task = false;
template <typename T> constexpr bool is_task<task<T>> = true;

}  // namespace detail

// Anything that can be called with a response (and what else there is) and returns nothing, or a
// coroutine's task<> (coroutine.hpp). What else it returns is dropped.
template <typename... More> class handler_of : public unique_function<void(response, More...)> {
    using base = unique_function<void(response, More...)>;

    template <typename F> static decltype(auto) adapted(F&& f) {
        using returned = std::invoke_result_t<std::decay_t<F>&, response, More...>;
        if constexpr (detail::is_task<returned>) {
            static_assert(std::is_same_v<returned, task<void>>,
                          "a handler's task has no result: it sends the response");
            return [f = std::decay_t<F>(std::forward<F>(f))](response res, More... more) mutable {
                const auto handle = detail::loop_handle_of(res);
                detail::run_handler(handle, f(std::move(res), std::move(more)...));
            };
        } else {
            return std::forward<F>(f);
        }
    }

public:
    handler_of() noexcept = default;
    handler_of(std::nullptr_t) noexcept {}  // NOLINT
    template <typename F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, handler_of> &&
                 std::is_invocable_v<std::decay_t<F>&, response, More...>)
    handler_of(F&& f) : base(adapted(std::forward<F>(f))) {}  // NOLINT: conversion intended
};

using handler = handler_of<>;

}  // namespace wire::http
