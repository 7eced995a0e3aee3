// Brotli streams by libbrotlienc. src/brotli_none stands in for this file where that is absent.
#include <algorithm>

#include <brotli/encode.h>

#include "body_packer.hpp"

namespace wire::http {

namespace {

class br_packer final : public body_packer {
public:
    explicit br_packer(BrotliEncoderState* s) noexcept : state_(s) {}
    br_packer(const br_packer&) = delete;
    br_packer& operator=(const br_packer&) = delete;
    ~br_packer() override { BrotliEncoderDestroyInstance(state_); }

    errc add(std::string_view in, flush how, buffer& out) override {
        const auto asked = how == flush::none   ? BROTLI_OPERATION_PROCESS
                           : how == flush::sync ? BROTLI_OPERATION_FLUSH
                                                : BROTLI_OPERATION_FINISH;
        std::size_t left = in.size();
        auto* from = reinterpret_cast<const std::uint8_t*>(in.data());
        do {
            const auto space =
                out.prepare(std::clamp(left / 2, least_packed_space, most_packed_space));
            std::size_t room = space.size();
            auto* to = reinterpret_cast<std::uint8_t*>(space.data());
            const auto good =
                BrotliEncoderCompressStream(state_, asked, &left, &from, &room, &to, nullptr);
            out.commit(space.size() - room);
            if (good == BROTLI_FALSE) return errc::system_error;
        } while (left > 0 || BrotliEncoderHasMoreOutput(state_) != BROTLI_FALSE);
        return errc::none;
    }
    // The library has no way to begin anew.
    bool reset() noexcept override { return false; }

private:
    BrotliEncoderState* state_;
};

}  // namespace

std::unique_ptr<body_packer> make_br_packer(int level) {
    if (level < BROTLI_MIN_QUALITY || level > BROTLI_MAX_QUALITY) return nullptr;
    BrotliEncoderState* s = BrotliEncoderCreateInstance(nullptr, nullptr, nullptr);
    if (s == nullptr) return nullptr;
    auto made = std::make_unique<br_packer>(s);
    BrotliEncoderSetParameter(s, BROTLI_PARAM_QUALITY, static_cast<std::uint32_t>(level));
    BrotliEncoderSetParameter(s, BROTLI_PARAM_LGWIN, packed_window_bits);
    return made;
}

}  // namespace wire::http
