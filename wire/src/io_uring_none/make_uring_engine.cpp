// Stands in for src/loop/uring*.cpp where wire is built without io_uring: loops that ask for it are
// told why there is none.
#include "loop/engine.hpp"

namespace wire::detail {

result<std::unique_ptr<engine>> make_uring_engine(event_loop&, const loop_options&) {
    return error(errc::system_error,
                 "this wire was built without io_uring: build it with -D WIRE_WITH_IO_URING=ON");
}

}  // namespace wire::detail
