// Chooses a loop's engine. Alone in its file, so that the tests can be linked with another default.
#include "engine.hpp"
#include "epoll_engine.hpp"
#include "poll_engine.hpp"

namespace wire::detail {

namespace {

#ifdef WIRE_AUTOMATIC_IS_IO_URING  // the tests, which so run over both
constexpr loop_engine automatic_engine = loop_engine::io_uring;
#else
constexpr loop_engine automatic_engine = loop_engine::epoll;
#endif

}  // namespace

result<std::unique_ptr<engine>> make_engine(event_loop& loop, const loop_options& options,
                                            loop_use use) {
    if (use == loop_use::blocking) return std::unique_ptr<engine>(new poll_engine(loop));
    const loop_engine wanted =
        options.engine == loop_engine::automatic ? automatic_engine : options.engine;
    if (wanted == loop_engine::io_uring) return make_uring_engine(loop, options);
    auto made = epoll_engine::create(loop, options);
    if (!made) return made.error();
    return std::unique_ptr<engine>(*std::move(made));
}

}  // namespace wire::detail
