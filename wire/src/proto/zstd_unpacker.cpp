// Zstandard frames by libzstd. src/zstd_none stands in for this file where that is absent.
#include <algorithm>
#include <array>
#include <cstdint>

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
        // What is there whole is read in another way, which takes blocks in an empty frame that the
        // usual one refuses. So an empty frame never comes whole.
        const bool empty =
            header_bytes_ == 0 && ZSTD_getFrameContentSize(in.data(), in.size()) == 0;
        ZSTD_inBuffer from{in.data(), empty ? 1 : in.size(), 0};
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
            from.size = in.size();
        } while (!done.ended && from.pos < from.size && to.pos < to.size);
        out.commit(to.pos);
        done.used = from.pos;
        made_ += to.pos;
        keep_header(in.substr(0, from.pos));
        if (done.ended && !is_as_long_as_it_says()) done.error = errc::bad_compressed_data;
        return done;
    }
    // RFC 8878 section 3: frames follow one another.
    bool next_stream() noexcept override {
        header_bytes_ = 0;
        made_ = 0;
        return ZSTD_isError(ZSTD_DCtx_reset(context_, ZSTD_reset_session_only)) == 0;
    }

private:
    // The first bytes of frames (RFC 8878 sections 3.1.1 and 3.1.2); the low half of the first is
    // free in skippable ones.
    static constexpr std::string_view frame = "\x28\xb5\x2f\xfd";
    static constexpr std::string_view skippable = "\x50\x2a\x4d\x18";

    // Whether `in` may go on after the first `header_bytes_` of a frame. libzstd may be built to
    // read formats older than the standard's, and does not bound their windows.
    bool begins_as_it_should(std::string_view in) noexcept {
        for (std::size_t i = header_bytes_; i < frame.size() && i - header_bytes_ < in.size();
             ++i) {
            const char c = in[i - header_bytes_];
            if (i == 0) skippable_ = (c & '\xf0') == skippable[0];
            if (i == 0 && skippable_) continue;
            if (c != (skippable_ ? skippable : frame)[i]) return false;
        }
        return true;
    }

    void keep_header(std::string_view bytes) noexcept {
        const std::size_t n = std::min(bytes.size(), header_.size() - header_bytes_);
        std::copy_n(bytes.data(), n, header_.data() + header_bytes_);
        header_bytes_ += n;
    }

    // Whether a frame that ended has given what its header says, if it says so. libzstd does not
    // look where the last block is empty and the frame came in several pieces.
    bool is_as_long_as_it_says() const noexcept {
        const std::uint64_t size = ZSTD_getFrameContentSize(header_.data(), header_bytes_);
        return size == made_ || size == ZSTD_CONTENTSIZE_UNKNOWN || skippable_;
    }

    ZSTD_DCtx* context_;
    std::array<char, 18> header_;  // of a frame, and what follows where it is shorter
    std::size_t header_bytes_ = 0;
    std::uint64_t made_ = 0;  // of the frame's content
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
