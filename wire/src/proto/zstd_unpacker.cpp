// Zstandard frames by libzstd. src/zstd_none stands in for this file where that is absent.
#include <algorithm>

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
        if (!begins_as_it_should(in)) {
            done.error = errc::bad_compressed_data;
            return done;
        }
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
        seen_ = std::min(seen_ + from.pos, frame.size());
        return done;
    }
    // RFC 8878 section 3: frames follow one another.
    bool next_stream() noexcept override {
        seen_ = 0;
        return ZSTD_isError(ZSTD_DCtx_reset(context_, ZSTD_reset_session_only)) == 0;
    }

private:
    // The first bytes of frames (RFC 8878 sections 3.1.1 and 3.1.2); the low half of the first is
    // free in skippable ones.
    static constexpr std::string_view frame = "\x28\xb5\x2f\xfd";
    static constexpr std::string_view skippable = "\x50\x2a\x4d\x18";

    // Whether `in` may go on after the first `seen_` bytes of a frame. libzstd may be built to read
    // formats older than the standard's, and does not bound their windows.
    bool begins_as_it_should(std::string_view in) noexcept {
        for (std::size_t i = seen_; i < frame.size() && i - seen_ < in.size(); ++i) {
            const char c = in[i - seen_];
            if (i == 0) skippable_ = (c & '\xf0') == skippable[0];
            if (i == 0 && skippable_) continue;
            if (c != (skippable_ ? skippable : frame)[i]) return false;
        }
        return true;
    }

    ZSTD_DCtx* context_;
    std::size_t seen_ = 0;  // of those bytes
    bool skippable_ = false;
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
