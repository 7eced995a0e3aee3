// A client on a loop of its own, run until a test's condition holds.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>

#include "wire/client/client.hpp"

namespace wire::testing {

struct loop_client : ::testing::Test {
    std::unique_ptr<event_loop> loop = *event_loop::create();
    http::client_options options;
    std::optional<http::async_client> made;

    // Made when it is first used: `options` can be set before.
    http::async_client& c() {
        if (!made) made.emplace(*loop, options);
        return *made;
    }
    // Runs the loop until done(), for 10 s at most. Whether it is done.
    template <typename Done> bool run_until(Done done) {
        const auto until = clock::now() + std::chrono::seconds(10);
        while (!done() && clock::now() < until) loop->run_once(until - clock::now());
        return done();
    }
};

}  // namespace wire::testing
