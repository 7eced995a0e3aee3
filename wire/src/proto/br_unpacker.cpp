// Brotli streams by libbrotlidec. src/brotli_none stands in for this file where that is absent.
#include <brotli/decode.h>

#include "body_unpacker.hpp"

namespace wire::http {

bool brotli_available() noexcept { return true; }

namespace {

class br_unpacker final : public body_unpacker {
public:
    explicit br_unpacker(BrotliDecoderState* s) noexcept : state_(s) {}
    br_unpacker(const br_unpacker&) = delete;
    br_unpacker& operator=(const br_unpacker&) = delete;
    ~br_unpacker() override { BrotliDecoderDestroyInstance(state_); }

    step add(std::string_view in, std::size_t room, buffer& out) override {
        std::size_t in_left = in.size();
        std::size_t out_left = room;
        auto* from = reinterpret_cast<const std::uint8_t*>(in.data());
        auto* to = reinterpret_cast<std::uint8_t*>(out.prepare(room).data());
        const auto said =
            BrotliDecoderDecompressStream(state_, &in_left, &from, &out_left, &to, nullptr);
        out.commit(room - out_left);
        step done{.used = in.size() - in_left, .ended = said == BROTLI_DECODER_RESULT_SUCCESS};
        if (said == BROTLI_DECODER_RESULT_ERROR) done.error = reason();
        return done;
    }
    // RFC 7932 has one stream, which says itself that it is the last.
    bool next_stream() noexcept override { return false; }

private:
    errc reason() const noexcept {
        const BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(state_);
        const bool memory = code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
                            code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
        return memory ? errc::system_error : errc::bad_compressed_data;
    }

    BrotliDecoderState* state_;
};

}  // namespace

std::unique_ptr<body_unpacker> make_br_unpacker() {
    BrotliDecoderState* s = BrotliDecoderCreateInstance(nullptr, nullptr, nullptr);
    if (s == nullptr) return nullptr;
    return std::make_unique<br_unpacker>(s);
}

}  // namespace wire::http
