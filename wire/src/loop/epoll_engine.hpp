// The engine of most loops: epoll, level-triggered.
#pragma once

#include <sys/epoll.h>

#include <memory>

#include "readiness_engine.hpp"

namespace wire::detail {

class epoll_engine final : public readiness_engine {
public:
    // Fails when the process may open no more descriptors.
    static result<std::unique_ptr<epoll_engine>> create(event_loop& loop,
                                                        const loop_options& options);

    loop_engine name() const noexcept override { return loop_engine::epoll; }
    std::size_t wait_and_dispatch(clock::duration longest, bool queued) override;
    int descriptor() noexcept override { return epoll_.get(); }
    result<void> watch(io_source& source, int fd, ready interest) override;
    void rewatch(io_source& source, ready interest) noexcept override;
    void unwatch(io_source& source) noexcept override;

private:
    epoll_engine(event_loop& loop, unique_fd epoll, std::size_t most);
    int wait(clock::duration longest) noexcept;

    unique_fd epoll_;
    std::unique_ptr<epoll_event[]> events_;
    std::size_t events_size_;
    std::size_t event_next_ = 0;  // the part of events_ not yet dispatched
    std::size_t event_end_ = 0;
    bool coarse_wait_ = false;  // the kernel has no epoll_pwait2
};

}  // namespace wire::detail
