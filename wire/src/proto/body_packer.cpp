// Chooses the packer of a coding, and makes those of gzip and deflate.
#include "body_packer.hpp"

#include "body_unpacker.hpp"

namespace wire::http {

namespace {

class deflate_packer final : public body_packer {
public:
    explicit deflate_packer(compressor c) noexcept : by_(std::move(c)) {}
    errc add(std::string_view in, flush how, buffer& out) override { return by_.add(in, how, out); }
    bool reset() noexcept override {
        by_.reset();
        return true;
    }

private:
    compressor by_;
};

std::unique_ptr<body_packer> make_deflate_packer(coding c, int level) {
    auto made = compressor::create(c, {.level = level});
    if (!made) return nullptr;
    return std::make_unique<deflate_packer>(*std::move(made));
}

}  // namespace

bool can_pack(content_coding c) noexcept {
    switch (c) {
    case content_coding::identity: break;
    case content_coding::gzip:
    case content_coding::deflate: return compression_available();
    case content_coding::br: return brotli_available();
    case content_coding::zstd: return zstd_available();
    }
    return false;
}

std::unique_ptr<body_packer> make_packer(content_coding c, int level) {
    switch (c) {
    case content_coding::identity: break;
    case content_coding::gzip: return make_deflate_packer(coding::gzip, level);
    case content_coding::deflate: return make_deflate_packer(coding::zlib, level);
    case content_coding::br: return make_br_packer(level);
    case content_coding::zstd: return make_zstd_packer(level);
    }
    return nullptr;
}

}  // namespace wire::http
