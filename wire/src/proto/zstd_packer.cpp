// Zstandard frames by libzstd. src/zstd_none stands in for this file where that is absent.
#include <algorithm>

#include <zstd.h>

#include "body_packer.hpp"

namespace wire::http {

namespace {

class zstd_packer final : public body_packer {
public:
    explicit zstd_packer(ZSTD_CCtx* c) noexcept : context_(c) {}
    zstd_packer(const zstd_packer&) = delete;
    zstd_packer& operator=(const zstd_packer&) = delete;
    ~zstd_packer() override { ZSTD_freeCCtx(context_); }

    errc add(std::string_view in, flush how, buffer& out) override {
        const auto asked = how == flush::none   ? ZSTD_e_continue
                           : how == flush::sync ? ZSTD_e_flush
                                                : ZSTD_e_end;
        ZSTD_inBuffer from{in.data(), in.size(), 0};
        for (;;) {
            const auto space = out.prepare(
                std::clamp((from.size - from.pos) / 2, least_packed_space, most_packed_space));
            ZSTD_outBuffer to{space.data(), space.size(), 0};
            const std::size_t left = ZSTD_compressStream2(context_, &to, &from, asked);
            out.commit(to.pos);
            if (ZSTD_isError(left) != 0) return errc::system_error;
            if (how == flush::none ? from.pos == from.size : left == 0) return errc::none;
        }
    }
    bool reset() noexcept override {
        return ZSTD_isError(ZSTD_CCtx_reset(context_, ZSTD_reset_session_only)) == 0;
    }

private:
    ZSTD_CCtx* context_;
};

}  // namespace

std::unique_ptr<body_packer> make_zstd_packer(int level) {
    if (level < 1 || level > ZSTD_maxCLevel()) return nullptr;
    ZSTD_CCtx* c = ZSTD_createCCtx();
    if (c == nullptr) return nullptr;
    auto made = std::make_unique<zstd_packer>(c);
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, packed_window_bits);
    return made;
}

}  // namespace wire::http
