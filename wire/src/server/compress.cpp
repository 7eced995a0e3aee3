#include "wire/server/compress.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "../proto/char_tables.hpp"
#include "wire/proto/accept_encoding.hpp"
#include "wire/proto/compression.hpp"

namespace wire::http {

namespace {

bool shrinks(std::string_view content_type) {
    std::string type(detail::trim(content_type.substr(0, content_type.find(';'))));
    std::transform(type.begin(), type.end(), type.begin(), detail::lower);
    constexpr std::array<std::string_view, 6> others{"application/json", "application/javascript", "application/xml",
                                                     "application/wasm", "application/x-ndjson",   "image/bmp"};
    return type.starts_with("text/") || type.ends_with("+json") || type.ends_with("+xml") ||
           std::find(others.begin(), others.end(), type) != others.end();
}

// A compressor costs a quarter of a MiB: those that are idle are kept, one for each thread that sends at once.
class compressors {
public:
    explicit compressors(const compress_options& o) : options_(o) {}

    // Nothing when it cannot be done.
    std::optional<std::string> pack(content_coding how, std::string_view text) {
        auto& idle = how == content_coding::gzip ? gzip_ : deflate_;
        std::optional<compressor> with = take(idle);
        if (!with) {
            auto made = compressor::create(how == content_coding::gzip ? coding::gzip : coding::zlib, {.level = options_.level});
            if (!made) return std::nullopt;
            with = *std::move(made);
        }
        buffer out;
        const bool good = with->add(text, flush::finish, out) == errc::none;
        with->reset();
        const std::lock_guard lock(mutex_);
        if (idle.size() < max_idle) idle.push_back(*std::move(with));
        if (!good) return std::nullopt;
        return std::string(out.view());
    }
    std::size_t min_bytes() const noexcept { return options_.min_bytes; }

private:
    static constexpr std::size_t max_idle = 8;

    std::optional<compressor> take(std::vector<compressor>& idle) {
        const std::lock_guard lock(mutex_);
        if (idle.empty()) return std::nullopt;
        std::optional<compressor> last = std::move(idle.back());
        idle.pop_back();
        return last;
    }

    const compress_options options_;
    std::mutex mutex_;
    std::vector<compressor> gzip_;     // guarded by mutex
    std::vector<compressor> deflate_;  // guarded by mutex
};

void compress_response(response& res, compressors& with) {
    if (res.is_streamed() || res.status() == 206 || res.header("Content-Encoding") || res.body().size() < with.min_bytes()) return;
    if (!shrinks(res.header("Content-Type").value_or("text/plain"))) return;
    if (list_has_token(res.header("Cache-Control").value_or(""), "no-transform")) return;
    const std::string_view vary = res.header("Vary").value_or("");
    if (!list_has_token(vary, "accept-encoding") && !list_has_token(vary, "*")) res.header("Vary", "Accept-Encoding");
    // Also for HEAD, whose fields are to be those of GET.
    const content_coding how = preferred_coding(res.request().headers());
    if (how == content_coding::identity) return;
    auto packed = with.pack(how, res.body());
    if (!packed || packed->size() >= res.body().size()) return;
    res.body() = *std::move(packed);
    res.header("Content-Encoding", to_string(how)).remove_header("Accept-Ranges");
    const std::string etag(res.header("ETag").value_or("W/"));
    if (!etag.starts_with("W/")) res.set_header("ETag", "W/" + etag);
}

}  // namespace

router::editor compress(const compress_options& options) {
    return [with = std::make_shared<compressors>(options)](response& res) { compress_response(res, *with); };
}

}  // namespace wire::http
