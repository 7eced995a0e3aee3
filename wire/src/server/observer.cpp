// What the access log and the metrics are told of a request when it has been dealt with.
#include "observer.hpp"

#include <algorithm>

namespace wire::http::detail {

void observer::finish(const exchange* asked, const exchange& answer, int status,
                      const address& peer) const {
    access_record r;
    if (asked != nullptr) {
        r.request = &asked->req;
        r.bytes_in = asked->bytes_in;
        r.duration = clock::now() - asked->started;
    }
    r.status = status;
    r.bytes_out = answer.bytes_out;
    r.head_bytes_out = answer.head_bytes_out;
    if (counts_ != nullptr) {
        const auto method_index =
            static_cast<std::size_t>(asked != nullptr ? asked->req.method() : method::other);
        counts_->requests[method_index][static_cast<std::size_t>(std::clamp(status / 100, 0, 5))]
            .add();
        const auto us = std::chrono::ceil<std::chrono::microseconds>(r.duration).count();
        const auto bucket =
            std::lower_bound(loop_metrics::bounds_us.begin(), loop_metrics::bounds_us.end(), us);
        counts_->durations[static_cast<std::size_t>(bucket - loop_metrics::bounds_us.begin())]
            .add();
        counts_->duration_ns.add(static_cast<std::uint64_t>(r.duration.count()));
        counts_->bytes_in.add(r.bytes_in);
        counts_->bytes_out.add(r.bytes_out);
    }
    if (log_ == nullptr) return;
    r.peer = peer;
    r.finished = std::chrono::system_clock::now();
    (*log_)(r);
}

void observer::failed(errc why) noexcept {
    if (counts_ == nullptr) return;
    const auto hit = [this](limit_hit l) { counts_->limits[static_cast<std::size_t>(l)].add(); };
    switch (why) {
    case errc::uri_too_long: hit(limit_hit::uri); break;
    case errc::header_too_large: hit(limit_hit::header); break;
    case errc::too_many_headers: hit(limit_hit::headers); break;
    case errc::body_too_large: hit(limit_hit::body); break;
    case errc::chunk_extension_too_large: hit(limit_hit::chunk_extensions); break;
    default: break;
    }
}

}  // namespace wire::http::detail
