// A libFuzzer program for one target, which FUZZ_TARGET names.
#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    wire::fuzz::FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
    return 0;
}
