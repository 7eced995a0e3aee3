// A BIO over memory that is lent for the length of a call: OpenSSL reads what a stream received and
// appends to what it will send, without a buffer in between.
#pragma once

#include <openssl/bio.h>

#include <span>

#include "wire/base/buffer.hpp"

namespace wire::tls::detail {

// The two sides of the call in progress.
struct lent_bytes {
    std::span<const char> raw;  // from the peer; its front is taken off as it is read
    buffer* to_peer = nullptr;  // null: writing fails
};

// Null when memory is short. `bytes` must outlive it. Reading an empty `raw` is to be tried again,
// never an end: a stream tells its filter of none. Writing takes all: the stream bounds it.
BIO* make_lent_bio(lent_bytes& bytes) noexcept;

}  // namespace wire::tls::detail
