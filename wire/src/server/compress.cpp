// Middleware that compresses responses, with a store of idle compressors that all threads share.
#include "wire/server/compress.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exchange.hpp"
#include "proto/body_packer.hpp"
#include "proto/char_tables.hpp"

namespace wire::http {

namespace detail {

// Compressors cost up to a MiB each: those that are idle are kept, for each coding one for each
// thread that sends at once. Those of br cannot be used twice.
class compressors : public std::enable_shared_from_this<compressors> {
public:
    explicit compressors(const compress_options& o);

    void edit(response& res);

private:
    class stream;
    using packer = std::unique_ptr<body_packer>;
    static constexpr std::size_t max_idle = 8;

    int level(content_coding how) const noexcept;
    packer take(content_coding how);
    void give_back(content_coding how, packer used) noexcept;
    bool pack_whole(response& res, content_coding how);
    bool pack_pieces(response& res, content_coding how);

    std::vector<packer>& idle(content_coding how) { return idle_[static_cast<std::size_t>(how)]; }

    const compress_options options_;
    coding_list codings_;  // of the options, what wire was built with
    std::mutex mutex_;
    // By content_coding. Both are guarded by mutex.
    std::array<std::vector<packer>, coding_list::most> idle_;
    std::size_t streams_ = 0;
};

// One body in pieces.
class compressors::stream final : public piece_coder {
public:
    stream(std::shared_ptr<compressors> from, content_coding how, packer with)
        : from_(std::move(from)), how_(how), with_(std::move(with)) {}
    ~stream() override {
        from_->give_back(how_, std::move(with_));
        const std::lock_guard lock(from_->mutex_);
        --from_->streams_;
    }
    bool add(std::string_view piece, flush how, buffer& out) override {
        return with_->add(piece, how, out) == errc::none;
    }

private:
    std::shared_ptr<compressors> from_;
    content_coding how_;
    packer with_;
};

compressors::compressors(const compress_options& o) : options_(o) {
    for (const content_coding c : o.codings) {
        if (!can_pack(c) || std::find(codings_.begin(), codings_.end(), c) != codings_.end())
            continue;
        codings_.push_back(c);
        idle(c).reserve(max_idle);  // so that give_back() cannot throw
    }
}

int compressors::level(content_coding how) const noexcept {
    return how == content_coding::br     ? options_.br_level
           : how == content_coding::zstd ? options_.zstd_level
                                         : options_.level;
}

compressors::packer compressors::take(content_coding how) {
    {
        const std::lock_guard lock(mutex_);
        if (!idle(how).empty()) {
            packer last = std::move(idle(how).back());
            idle(how).pop_back();
            return last;
        }
    }
    return make_packer(how, level(how));
}

void compressors::give_back(content_coding how, packer used) noexcept {
    if (!used->reset()) return;
    const std::lock_guard lock(mutex_);
    if (idle(how).size() < max_idle) idle(how).push_back(std::move(used));
}

bool compressors::pack_whole(response& res, content_coding how) {
    packer with = take(how);
    if (!with) return false;
    buffer out;
    const bool good = with->add(res.body(), flush::finish, out) == errc::none;
    give_back(how, std::move(with));
    if (!good || out.size() >= res.body().size()) return false;
    res.body() = out.view();
    return true;
}

// Whether they are, or would be if they were sent: a HEAD is told what a GET would be.
bool compressors::pack_pieces(response& res, content_coding how) {
    if (res.request().method() == method::head) return true;
    {
        const std::lock_guard lock(mutex_);
        if (streams_ >= options_.max_streams) return false;
        ++streams_;
    }
    packer with = take(how);
    if (!with) {
        const std::lock_guard lock(mutex_);
        --streams_;
        return false;
    }
    response_access::of(res).out->set_coder(
        std::make_unique<stream>(shared_from_this(), how, std::move(with)));
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

// Whether a list that may be spread over several of the fields has it.
bool any_has_token(std::string_view fields, std::string_view name, std::string_view token) {
    while (!fields.empty()) {
        const std::string_view line = fields.substr(0, fields.find('\r'));
        fields.remove_prefix(line.size() + 2);
        const std::size_t colon = line.find(':');
        if (equals_ignoring_case(line.substr(0, colon), name) &&
            list_has_token(line.substr(colon + 2), token))
            return true;
    }
    return false;
}

// The response's ETag where that is a strong one, else nothing.
std::string strong_tag(const response& res) {
    const auto tag = res.header("ETag");
    return tag && !tag->starts_with("W/") ? std::string(*tag) : std::string();
}

// Whether If-None-Match says that the client has this response as it is, and not compressed: by its
// strong tag `etag`, if it has one, and not by the weak one.
bool has_it_as_is(const header_list& asked, std::string_view etag) {
    if (etag.empty()) return false;
    bool strong = false;
    bool weak = false;
    for (const http::header& h : asked) {
        if (!equals_ignoring_case(h.name, "if-none-match")) continue;
        for (std::size_t at = h.value.find(etag); at != std::string_view::npos;
             at = h.value.find(etag, at + etag.size()))
            (h.value.substr(0, at).ends_with("W/") ? weak : strong) = true;
    }
    return strong && !weak;
}

}  // namespace

void compressors::edit(response& res) {
    if (codings_.empty()) return;
    const exchange& e = response_access::of(res);
    const bool in_pieces = e.out != nullptr && !e.instead;
    if (e.file != nullptr) return;
    // Has the Vary and the ETag of its 200 (RFC 9110 section 15.4.5), as far as they can be known.
    const bool unchanged = e.status == 304;
    if (!unchanged && (in_pieces ? e.out_length.has_value() || is_bodiless(e.status)
                                 : e.body.size() < options_.min_bytes))
        return;
    if (res.status() == 206 || res.header("Content-Encoding")) return;
    const auto type = res.header("Content-Type");
    if (!shrinks(type.value_or("text/plain"))) return;
    if (any_has_token(e.fields, "cache-control", "no-transform")) return;
    // Also for HEAD, whose fields are to be those of GET.
    const content_coding how = preferred_coding(res.request().headers(), codings_);
    const std::string etag = strong_tag(res);
    // It would have been compressed for this client, and was not: too small, say, or an image. A
    // 304 may go without the type that tells.
    const bool as_is =
        unchanged && how != content_coding::identity && has_it_as_is(res.request().headers(), etag);
    if (as_is && !type) return;
    if (!any_has_token(e.fields, "vary", "accept-encoding") &&
        !any_has_token(e.fields, "vary", "*"))
        res.header("Vary", "Accept-Encoding");
    if (how == content_coding::identity || as_is) return;
    if (!unchanged) {
        if (!(in_pieces ? pack_pieces(res, how) : pack_whole(res, how))) return;
        res.header("Content-Encoding", to_string(how)).remove_header("Accept-Ranges");
    }
    if (!etag.empty()) res.set_header("ETag", "W/" + etag);
}

}  // namespace detail

router::editor compress(const compress_options& options) {
    return
        [with = std::make_shared<detail::compressors>(options)](response& res) { with->edit(res); };
}

}  // namespace wire::http
