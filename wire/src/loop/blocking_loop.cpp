// Makes the loop of a blocking client.
#include "blocking_loop.hpp"

#include "engine.hpp"

namespace wire::detail {

std::unique_ptr<event_loop> blocking_loop() {
    const loop_options options;
    auto loop = std::make_unique<event_loop>(without_engine{}, options);
    auto made = make_engine(*loop, options, loop_use::blocking);
    loop->core().use(*std::move(made));  // asks the kernel for nothing, and so cannot fail
    return loop;
}

}  // namespace wire::detail
