// Exchanges that a loop of a server keeps for later requests, and those that are too many.
#include "worker.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace wire::http::worker_test {

TEST(worker, an_exchange_that_is_given_back_forgets_its_file_kept_or_not) {
    server_options options;
    handler nobody;
    detail::doors closed;
    detail::worker w(options, nobody, nullptr, closed);
    ASSERT_TRUE(w.start());
    detail::connection one(w, address::loopback_v4(1));
    const auto file = std::make_shared<detail::file_body>();
    std::vector<detail::exchange*> many;
    for (int i = 0; i < 1000; ++i) {  // more than are kept
        static_cast<void>(w.spare());
        many.push_back(w.take_spare());
    }
    for (detail::exchange* const e : many) {
        e->file = file;
        file->at = &one;
        w.recycle(e);
        EXPECT_EQ(file->at, nullptr);
    }
}

}  // namespace wire::http::worker_test
