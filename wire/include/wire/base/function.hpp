// A callable that may own things which cannot be copied, such as a response or a socket.
//
//     wire::unique_function<void(int)> f = [res = std::move(res)](int n) mutable {
//         res.send(std::to_string(n));
//     };
//     if (f) f(5);
//
// std::move_only_function is the same, but needs C++23.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace wire {

template <typename Signature> class unique_function;

// Owns one callable of the given signature, or none. Callables of up to 48 bytes that move without
// throwing lie in the object itself; others are allocated. Calling is not const: the callable may
// change its own state. Not thread-safe, but may be moved to another thread.
template <typename R, typename... Args> class unique_function<R(Args...)> {
public:
    // Empty: must not be called.
    unique_function() noexcept = default;
    unique_function(std::nullptr_t) noexcept {}  // NOLINT

    // Takes anything that can be called with `Args` and returns something that converts to `R`; for
    // R = void any result will do, and is dropped. Throws what copying or moving `f` throws, and
    // std::bad_alloc.
    template <typename F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, unique_function> &&
                 std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
    unique_function(F&& f) {  // NOLINT: conversion intended
        using Callable = std::decay_t<F>;
        if constexpr (fits<Callable>) {
            ::new (static_cast<void*>(storage_)) Callable(std::forward<F>(f));
            vtable_ = &local_table<Callable>;
        } else {
            ::new (static_cast<void*>(storage_)) Callable*(new Callable(std::forward<F>(f)));
            vtable_ = &heap_table<Callable>;
        }
    }
    // The function that was moved from is empty.
    unique_function(unique_function&& other) noexcept { take(other); }
    unique_function& operator=(unique_function&& other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    unique_function(const unique_function&) = delete;
    unique_function& operator=(const unique_function&) = delete;
    ~unique_function() { reset(); }

    // Whether there is a callable.
    explicit operator bool() const noexcept { return vtable_ != nullptr; }
    // Precondition: not empty. The callable must not destroy, move or replace this object while it
    // runs. Exceptions pass through.
    R operator()(Args... args) { return vtable_->call(storage_, std::forward<Args>(args)...); }

private:
    static constexpr std::size_t local_bytes = 48;
    // What can be done with a callable of one type; `void*` is where it, or the pointer to it,
    // lies.
    struct table {
        R (*call)(void*, Args&&...);
        void (*move)(void* from, void* to) noexcept;  // leaves `from` destroyed
        void (*destroy)(void*) noexcept;
    };
    // Whether a callable lies in storage_ itself.
    template <typename F>
    static constexpr bool fits =
        sizeof(F) <= local_bytes && alignof(F) <= alignof(std::max_align_t) &&
        std::is_nothrow_move_constructible_v<F>;

    // For callables in storage_.
    template <typename F>
    static constexpr table local_table{
        [](void* self, Args&&... args) -> R {
            return static_cast<R>((*static_cast<F*>(self))(std::forward<Args>(args)...));
        },
        [](void* from, void* to) noexcept {
            ::new (to) F(std::move(*static_cast<F*>(from)));
            static_cast<F*>(from)->~F();
        },
        [](void* self) noexcept { static_cast<F*>(self)->~F(); }};

    // For callables on the heap; storage_ holds a pointer.
    template <typename F>
    static constexpr table heap_table{
        [](void* self, Args&&... args) -> R {
            return static_cast<R>((**static_cast<F**>(self))(std::forward<Args>(args)...));
        },
        [](void* from, void* to) noexcept { ::new (to) F*(*static_cast<F**>(from)); },
        [](void* self) noexcept { delete *static_cast<F**>(self); }};

    void take(unique_function& other) noexcept {
        if (other.vtable_ != nullptr) {
            other.vtable_->move(other.storage_, storage_);
            vtable_ = std::exchange(other.vtable_, nullptr);
        }
    }
    void reset() noexcept {
        if (vtable_ != nullptr) std::exchange(vtable_, nullptr)->destroy(storage_);
    }

    const table* vtable_ = nullptr;  // null when empty
    alignas(std::max_align_t) unsigned char storage_[local_bytes];
};

}  // namespace wire
