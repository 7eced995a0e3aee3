#include "engine/awake_cores.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>

namespace wireload {

awake_cores::awake_cores() : device_(open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC)) {
    const std::int32_t longest_us = 0;
    if (device_ && write(device_.get(), &longest_us, sizeof longest_us) != sizeof longest_us)
        device_ = wire::unique_fd();
}

}  // namespace wireload
