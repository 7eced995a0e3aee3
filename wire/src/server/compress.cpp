// Middleware that compresses responses, with a store of idle compressors that all threads share.
#include "wire/server/compress.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "exchange.hpp"
#include "proto/char_tables.hpp"
#include "wire/proto/accept_encoding.hpp"
#include "wire/proto/compression.hpp"

namespace wire::http {

namespace detail {

// Compressors cost a quarter of a MiB each: those that are idle are kept, one for each thread that
// sends at once.
class compressors : public std::enable_shared_from_this<compressors> {
public:
    explicit compressors(const compress_options& o) : options_(o) {
        gzip_.reserve(max_idle);  // so that give_back() cannot throw
        deflate_.reserve(max_idle);
    }

    void edit(response& res);

private:
    class stream;
    static constexpr std::size_t max_idle = 8;

    std::optional<compressor> take(content_coding how);
    void give_back(content_coding how, compressor used) noexcept;
    bool pack_whole(response& res, content_coding how);
    bool pack_pieces(response& res, content_coding how);

    std::vector<compressor>& idle(content_coding how) {
        return how == content_coding::gzip ? gzip_ : deflate_;
    }

    const compress_options options_;
    std::mutex mutex_;
    std::vector<compressor> gzip_;     // guarded by mutex
    std::vector<compressor> deflate_;  // guarded by mutex
    std::size_t streams_ = 0;          // guarded by mutex
};

// One body in pieces.
class compressors::stream final : public piece_coder {
public:
    stream(std::shared_ptr<compressors> from, content_coding how, compressor with)
        : from_(std::move(from)), how_(how), with_(std::move(with)) {}
    ~stream() override {
        from_->give_back(how_, std::move(with_));
        const std::lock_guard lock(from_->mutex_);
        --from_->streams_;
    }
    bool add(std::string_view piece, flush how, buffer& out) override {
        return with_.add(piece, how, out) == errc::none;
    }

private:
    std::shared_ptr<compressors> from_;
    content_coding how_;
    compressor with_;
};

std::optional<compressor> compressors::take(content_coding how) {
    {
        const std::lock_guard lock(mutex_);
        if (!idle(how).empty()) {
            std::optional<compressor> last = std::move(idle(how).back());
            idle(how).pop_back();
            return last;
        }
    }
    auto made = compressor::create(how == content_coding::gzip ? coding::gzip : coding::zlib,
                                   {.level = options_.level});
    if (!made) return std::nullopt;
    return *std::move(made);
}

void compressors::give_back(content_coding how, compressor used) noexcept {
    used.reset();
    const std::lock_guard lock(mutex_);
    if (idle(how).size() < max_idle) idle(how).push_back(std::move(used));
}

bool compressors::pack_whole(response& res, content_coding how) {
    auto with = take(how);
    if (!with) return false;
    buffer out;
    const bool good = with->add(res.body(), flush::finish, out) == errc::none;
    give_back(how, *std::move(with));
    if (!good || out.size() >= res.body().size()) return false;
    res.body() = out.view();
    return true;
}

// Whether they are, or would be if they were sent: a HEAD is told what a GET would be.
bool compressors::pack_pieces(response& res, content_coding how) {
    if (res.request().method() == method::head) return compression_available();
    {
        const std::lock_guard lock(mutex_);
        if (streams_ >= options_.max_streams) return false;
        ++streams_;
    }
    auto with = take(how);
    if (!with) {
        const std::lock_guard lock(mutex_);
        --streams_;
        return false;
    }
    response_access::of(res).out->set_coder(
        std::make_unique<stream>(shared_from_this(), how, *std::move(with)));
    return true;
}

namespace {

bool shrinks(std::string_view content_type) {
    std::string type(trim(content_type.substr(0, content_type.find(';'))));
    std::transform(type.begin(), type.end(), type.begin(), lower);
    constexpr std::array<std::string_view, 6> others{
        "application/json", "application/javascript", "application/xml",
        "application/wasm", "application/x-ndjson",   "image/bmp"};
    return type.starts_with("text/") || type.ends_with("+json") || type.ends_with("+xml") ||
           std::find(others.begin(), others.end(), type) != others.end();
}

}  // namespace

void compressors::edit(response& res) {
    const exchange& e = response_access::of(res);
    const bool in_pieces = e.out != nullptr && !e.instead;
    if (in_pieces ? e.out_length.has_value() || is_bodiless(e.status)
                  : e.file != nullptr || e.body.size() < options_.min_bytes)
        return;
    if (res.status() == 206 || res.header("Content-Encoding")) return;
    if (!shrinks(res.header("Content-Type").value_or("text/plain"))) return;
    if (list_has_token(res.header("Cache-Control").value_or(""), "no-transform")) return;
    const std::string_view vary = res.header("Vary").value_or("");
    if (!list_has_token(vary, "accept-encoding") && !list_has_token(vary, "*"))
        res.header("Vary", "Accept-Encoding");
    // Also for HEAD, whose fields are to be those of GET.
    const content_coding how = preferred_coding(res.request().headers());
    if (how == content_coding::identity ||
        !(in_pieces ? pack_pieces(res, how) : pack_whole(res, how)))
        return;
    res.header("Content-Encoding", to_string(how)).remove_header("Accept-Ranges");
    const std::string etag(res.header("ETag").value_or("W/"));
    if (!etag.starts_with("W/")) res.set_header("ETag", "W/" + etag);
}

}  // namespace detail

router::editor compress(const compress_options& options) {
    return
        [with = std::make_shared<detail::compressors>(options)](response& res) { with->edit(res); };
}

}  // namespace wire::http
