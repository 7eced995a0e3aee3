// A libFuzzer program for one target, which FUZZ_TARGET names.
#include <cstddef>
#include <cstdint>

#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    wireload::fuzz::FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
    return 0;
}
