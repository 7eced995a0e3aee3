// The functions of the BIO, and its one method.
#include "lent_bio.hpp"

#include <algorithm>
#include <cstring>

namespace wire::tls::detail {

namespace {

lent_bytes& bytes_of(BIO* bio) noexcept { return *static_cast<lent_bytes*>(BIO_get_data(bio)); }

int read(BIO* bio, char* to, std::size_t size, std::size_t* got) noexcept {
    auto& raw = bytes_of(bio).raw;
    BIO_clear_retry_flags(bio);
    *got = std::min(size, raw.size());
    if (*got == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    std::memcpy(to, raw.data(), *got);
    raw = raw.subspan(*got);
    return 1;
}

int write(BIO* bio, const char* from, std::size_t size, std::size_t* put) noexcept {
    buffer* const to = bytes_of(bio).to_peer;
    if (to == nullptr) return 0;
    to->append({from, size});
    *put = size;
    return 1;
}

// 0 also means that the kernel's TLS cannot be had.
long control(BIO*, int what, long, void*) noexcept { return what == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* make_method() noexcept {
    BIO_METHOD* const m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "wire");
    if (m == nullptr) return nullptr;
    BIO_meth_set_read_ex(m, read);
    BIO_meth_set_write_ex(m, write);
    BIO_meth_set_ctrl(m, control);
    return m;
}

}  // namespace

BIO* make_lent_bio(lent_bytes& bytes) noexcept {
    // A table of functions; it lives as long as the program.
    static const BIO_METHOD* const method = make_method();
    BIO* const bio = method != nullptr ? BIO_new(method) : nullptr;
    if (bio == nullptr) return nullptr;
    BIO_set_data(bio, &bytes);
    BIO_set_init(bio, 1);
    return bio;
}

}  // namespace wire::tls::detail
