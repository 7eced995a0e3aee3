// Zstandard frames by libzstd. src/zstd_none stands in for this file where that is absent.
#include <zstd.h>
#include <zstd_errors.h>

#include "body_unpacker.hpp"

namespace wire::http {

bool zstd_available() noexcept { return true; }

namespace {

class zstd_unpacker final : public body_unpacker {
public:
    explicit zstd_unpacker(ZSTD_DCtx* c) noexcept : context_(c) {}
    zstd_unpacker(const zstd_unpacker&) = delete;
    zstd_unpacker& operator=(const zstd_unpacker&) = delete;
    ~zstd_unpacker() override { ZSTD_freeDCtx(context_); }

    step add(std::string_view in, std::size_t room, buffer& out) override {
        ZSTD_inBuffer from{in.data(), in.size(), 0};
        ZSTD_outBuffer to{out.prepare(room).data(), room, 0};
        step done;
        // It may come back early, with both input and room left.
        do {
            const std::size_t before = from.pos + to.pos;
            const std::size_t said = ZSTD_decompressStream(context_, &to, &from);
            if (ZSTD_isError(said) != 0) {
                done.error = ZSTD_getErrorCode(said) == ZSTD_error_memory_allocation
                                 ? errc::system_error
                                 : errc::bad_compressed_data;
                break;
            }
            done.ended = said == 0;
            if (from.pos + to.pos == before) break;
        } while (!done.ended && from.pos < from.size && to.pos < to.size);
        out.commit(to.pos);
        done.used = from.pos;
        return done;
    }
    // RFC 8878 section 3: frames follow one another.
    bool next_stream() noexcept override {
        return ZSTD_isError(ZSTD_DCtx_reset(context_, ZSTD_reset_session_only)) == 0;
    }

private:
    ZSTD_DCtx* context_;
};

}  // namespace

std::unique_ptr<body_unpacker> make_zstd_unpacker(int max_window_bits) {
    ZSTD_DCtx* c = ZSTD_createDCtx();
    if (c == nullptr) return nullptr;
    auto made = std::make_unique<zstd_unpacker>(c);
    if (ZSTD_isError(ZSTD_DCtx_setParameter(c, ZSTD_d_windowLogMax, max_window_bits)) != 0)
        return nullptr;
    return made;
}

}  // namespace wire::http
