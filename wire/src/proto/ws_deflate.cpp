// permessage-deflate: the negotiation of RFC 7692 section 7.1, then compressing and inflating
// messages. One session's part belongs to one thread.
//
//     negotiation   client: deflate_offer(), then read_deflate_answer()
//                   server: accept_deflate(), which takes the first offer that it can keep to
//     sending       append_message(): with context takeover one compressor of the session's own,
//                   from the first message on; otherwise one that the pool lends for each message
//     receiving     begin(), inflate() for each piece, finish(), and reclaim() when the message has
//                   been handed out; message_reader calls them
//                   begin()   borrows the message's buffer, and a decompressor where there is none
//                   finish()  adds the tail that the sender has left out; what is lent goes back
//
// An error ends the session, whose destructor gives back what is still lent.
#include "wire/proto/ws_deflate.hpp"

#include <algorithm>
#include <utility>

namespace wire::ws {

namespace {

constexpr std::string_view extension_name = "permessage-deflate";
// RFC 7692 section 7.2.1: the sender leaves it out.
constexpr std::string_view tail("\x00\x00\xFF\xFF", 4);

// ---- the grammar of RFC 6455 section 9.1 ----

struct parameter {
    std::string_view name;
    std::string value;
    bool has_value = false;
};
struct extension {
    std::string_view name;
    std::vector<parameter> parameters;
};

class field_reader {
public:
    explicit field_reader(std::string_view text) noexcept : rest_(text) {}

    bool read(std::vector<extension>& to) {
        for (skip_space(); !rest_.empty(); skip_space()) {
            // Empty elements of a list are ignored: RFC 9110 section 5.6.1.
            if (take(',')) continue;
            extension& e = to.emplace_back();
            if (!read_token(e.name)) return false;
            for (skip_space(); take(';'); skip_space()) {
                if (!read_parameter(e.parameters.emplace_back())) return false;
            }
            if (!rest_.empty() && !take(',')) return false;
        }
        return true;
    }

private:
    void skip_space() noexcept {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
            rest_.remove_prefix(1);
    }
    bool take(char c) noexcept {
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    bool read_token(std::string_view& to) noexcept {
        to = rest_.substr(0, rest_.find_first_of(" \t,;=\""));
        rest_.remove_prefix(to.size());
        return http::is_token(to);
    }
    bool read_parameter(parameter& p) {
        skip_space();
        if (!read_token(p.name)) return false;
        skip_space();
        if (!take('=')) return true;
        skip_space();
        p.has_value = true;
        if (!take('"')) {
            std::string_view token;
            if (!read_token(token)) return false;
            p.value = token;
            return true;
        }
        while (!take('"')) {
            if (take('\\') && rest_.empty()) return false;
            if (rest_.empty()) return false;
            p.value += rest_.front();
            rest_.remove_prefix(1);
        }
        return http::is_token(p.value);
    }

    std::string_view rest_;
};

// False when one of the fields is malformed.
[[gnu::cold]] bool read_extensions(const http::header_list& fields, std::vector<extension>& to) {
    for (const http::header& h : fields) {
        if (http::equals_ignoring_case(h.name, "Sec-WebSocket-Extensions") &&
            !field_reader(h.value).read(to))
            return false;
    }
    return true;
}

// ---- the parameters of RFC 7692 section 7.1 ----

struct deflate_parameters {
    bool server_no_context_takeover = false;
    bool client_no_context_takeover = false;
    int server_max_window_bits = 0;  // 0: absent
    int client_max_window_bits = 0;  // 0: absent; 15 when it has no value
};

// 8 to 15 in decimal, without leading zeros; else 0.
int window_bits(std::string_view text) noexcept {
    if (text == "8" || text == "9") return text[0] - '0';
    if (text.size() == 2 && text[0] == '1' && text[1] >= '0' && text[1] <= '5')
        return 10 + text[1] - '0';
    return 0;
}

// None when one is unknown, repeated or has a wrong value.
[[gnu::cold]] std::optional<deflate_parameters> understand(const extension& e, bool is_answer) {
    deflate_parameters all;
    for (const parameter& p : e.parameters) {
        if (p.name == "server_no_context_takeover" || p.name == "client_no_context_takeover") {
            bool& flag =
                p.name[0] == 's' ? all.server_no_context_takeover : all.client_no_context_takeover;
            if (p.has_value || std::exchange(flag, true)) return std::nullopt;
        } else if (p.name == "server_max_window_bits" || p.name == "client_max_window_bits") {
            int& bits = p.name[0] == 's' ? all.server_max_window_bits : all.client_max_window_bits;
            // Only a client's offer may leave the value out, and only of its own window:
            // section 7.1.2.2.
            const bool may_lack_value = !is_answer && p.name[0] == 'c';
            const int value = p.has_value ? window_bits(p.value) : may_lack_value ? 15 : 0;
            if (value == 0 || std::exchange(bits, value) != 0) return std::nullopt;
        } else {
            return std::nullopt;
        }
    }
    return all;
}

deflate_options within_range(deflate_options o) noexcept {
    o.level = std::clamp(o.level, 1, 9);
    o.window_bits = std::clamp(o.window_bits, 9, 15);
    o.memory_level = std::clamp(o.memory_level, 1, 9);
    o.peer_window_bits = std::clamp(o.peer_window_bits, 8, 15);
    return o;
}

[[gnu::cold]] void add_bits(std::string& to, std::string_view name, int bits) {
    to += "; ";
    to += name;
    to += '=' + std::to_string(bits);
}

std::uint8_t lesser(int a, int b) noexcept { return static_cast<std::uint8_t>(std::min(a, b)); }

error not_as_offered(std::string_view what) {
    return {errc::bad_handshake,
            "WebSocket handshake: the server's permessage-deflate " + std::string(what)};
}

}  // namespace

bool extensions_are_well_formed(const http::header_list& fields) {
    std::vector<extension> ignored;
    return read_extensions(fields, ignored);
}

[[gnu::cold]] std::string deflate_offer(const deflate_options& options) {
    if (!compression_available()) return {};
    const deflate_options o = within_range(options);
    std::string text(extension_name);
    if (!o.peer_context_takeover) text += "; server_no_context_takeover";
    if (!o.context_takeover) text += "; client_no_context_takeover";
    if (o.peer_window_bits < 15) add_bits(text, "server_max_window_bits", o.peer_window_bits);
    if (o.window_bits < 15) {
        add_bits(text, "client_max_window_bits", o.window_bits);
    } else {
        text += "; client_max_window_bits";  // the server may ask for less
    }
    return text;
}

[[gnu::cold]] result<std::optional<deflate_agreement>> read_deflate_answer(
    const http::header_list& fields, const deflate_options& options) {
    std::vector<extension> chosen;
    if (!read_extensions(fields, chosen))
        return error(errc::bad_handshake,
                     "WebSocket handshake: malformed Sec-WebSocket-Extensions");
    if (chosen.empty()) return std::optional<deflate_agreement>();
    if (!compression_available() || chosen.size() > 1 ||
        !http::equals_ignoring_case(chosen[0].name, extension_name)) {
        return error(errc::bad_handshake,
                     "WebSocket handshake: the server chose an extension that was not offered");
    }
    const auto answer = understand(chosen[0], true);
    if (!answer)
        return not_as_offered("has a parameter that is unknown, repeated or of a wrong value");
    const deflate_options o = within_range(options);
    if (!o.peer_context_takeover && !answer->server_no_context_takeover)
        return not_as_offered("keeps its context, which was not offered");
    const int server_bits =
        answer->server_max_window_bits != 0 ? answer->server_max_window_bits : 15;
    if (server_bits > o.peer_window_bits)
        return not_as_offered("has a larger window than was offered");
    const int client_bits =
        answer->client_max_window_bits != 0 ? answer->client_max_window_bits : 15;
    deflate_agreement agreed;
    agreed.server = {static_cast<std::uint8_t>(server_bits), !answer->server_no_context_takeover};
    agreed.client = {lesser(client_bits, o.window_bits),
                     o.context_takeover && !answer->client_no_context_takeover};
    return std::optional(agreed);
}

[[gnu::cold]] std::optional<accepted_deflate> accept_deflate(const http::header_list& fields,
                                                             const deflate_options& options) {
    std::vector<extension> offers;
    if (!compression_available() || !read_extensions(fields, offers)) return std::nullopt;
    const deflate_options o = within_range(options);
    for (const extension& e : offers) {
        if (!http::equals_ignoring_case(e.name, extension_name)) continue;
        const auto offer = understand(e, false);
        if (!offer || offer->server_max_window_bits == 8) continue;
        // A client can be told a window only if it says that it understands that: section 7.1.2.2.
        if (o.peer_window_bits < 15 && offer->client_max_window_bits == 0) continue;
        accepted_deflate a;
        a.agreed.server.window_bits = lesser(
            o.window_bits, offer->server_max_window_bits != 0 ? offer->server_max_window_bits : 15);
        a.agreed.server.context_takeover = o.context_takeover && !offer->server_no_context_takeover;
        a.agreed.client.window_bits =
            lesser(o.peer_window_bits,
                   offer->client_max_window_bits != 0 ? offer->client_max_window_bits : 15);
        a.agreed.client.context_takeover =
            o.peer_context_takeover && !offer->client_no_context_takeover;
        a.answer = extension_name;
        if (!a.agreed.server.context_takeover) a.answer += "; server_no_context_takeover";
        if (!a.agreed.client.context_takeover) a.answer += "; client_no_context_takeover";
        if (offer->server_max_window_bits != 0 || a.agreed.server.window_bits < 15) {
            add_bits(a.answer, "server_max_window_bits", a.agreed.server.window_bits);
        }
        if (a.agreed.client.window_bits < 15)
            add_bits(a.answer, "client_max_window_bits", a.agreed.client.window_bits);
        return a;
    }
    return std::nullopt;
}

// ---- what is lent ----

namespace {

template <typename Coder> std::unique_ptr<Coder> only_if_made(result<Coder> made) {
    return made ? std::make_unique<Coder>(*std::move(made)) : nullptr;
}

}  // namespace

std::unique_ptr<compressor> deflate_pool::take_compressor(const compression_options& o) {
    for (auto& kept : compressors_) {
        if (kept.first == o) {
            std::swap(kept, compressors_.back());
            auto c = std::move(compressors_.back().second);
            compressors_.pop_back();
            return c;
        }
    }
    return only_if_made(compressor::create(coding::raw_deflate, o));
}

void deflate_pool::give_back(std::unique_ptr<compressor> c, const compression_options& o) {
    if (compressors_.size() == max_kept) return;
    c->reset();
    compressors_.emplace_back(o, std::move(c));
}

// All with the largest window, which serves for every smaller one.
std::unique_ptr<decompressor> deflate_pool::take_decompressor() {
    if (decompressors_.empty()) return only_if_made(decompressor::create(coding::raw_deflate));
    auto d = std::move(decompressors_.back());
    decompressors_.pop_back();
    return d;
}

void deflate_pool::give_back(std::unique_ptr<decompressor> d) {
    if (decompressors_.size() == max_kept) return;
    d->reset();
    decompressors_.push_back(std::move(d));
}

// ---- a session ----

permessage_deflate::permessage_deflate(role r, const deflate_agreement& agreed,
                                       const deflate_options& options, deflate_pool& pool,
                                       const limits& l)
    : pool_(&pool),
      limits_(&l),
      min_bytes_(std::max<std::size_t>(options.min_bytes, 1)),
      sends_(r == role::server ? agreed.server : agreed.client),
      receives_(r == role::server ? agreed.client : agreed.server) {
    const deflate_options o = within_range(options);
    settings_ = {.level = o.level,
                 .window_bits = std::max<int>(sends_.window_bits, 9),
                 .memory_level = o.memory_level};
}

permessage_deflate::~permessage_deflate() { abandon(); }

void permessage_deflate::abandon() noexcept {
    if (decompressor_ != nullptr && !receives_.context_takeover)
        pool_->give_back(std::move(decompressor_));
    decompressor_.reset();
}

void permessage_deflate::append_message(buffer& out, opcode op, std::string_view payload,
                                        std::optional<mask_key> key) {
    // zlib cannot make a window of 8 bits. Messages are then sent as they are, which is always
    // allowed.
    if (payload.size() >= min_bytes_ && sends_.window_bits > 8) {
        if (compressor_ == nullptr) compressor_ = pool_->take_compressor(settings_);
        if (compressor_ != nullptr) {
            buffer packed;
            pool_->buffers().lend(packed);
            // Cannot fail: it was never finished.
            [[maybe_unused]] const errc e = compressor_->add(payload, flush::sync, packed);
            packed.truncate(packed.size() - tail.size());
            // With context takeover the peer's context must see what has gone into ours.
            const bool worth_it = sends_.context_takeover || packed.size() < payload.size();
            append_frame(out, op, worth_it ? packed.view() : payload, key, true, worth_it);
            pool_->buffers().reclaim(packed);
            if (!sends_.context_takeover) pool_->give_back(std::move(compressor_), settings_);
            return;
        }
    }
    append_frame(out, op, payload, key);
}

void permessage_deflate::begin(buffer& to) {
    pool_->buffers().lend(to);
    received_ = 0;
    stream_ended_ = false;
    if (decompressor_ == nullptr) {
        decompressor_ =
            receives_.context_takeover
                ? only_if_made(decompressor::create(coding::raw_deflate, receives_.window_bits))
                : pool_->take_decompressor();
    }
    if (decompressor_ != nullptr) decompressor_->restart_ratio(limits_->max_decompression_ratio);
}

decompressor::step permessage_deflate::inflate(std::string_view piece, std::size_t max_out,
                                               buffer& to) {
    if (decompressor_ == nullptr) return {.error = errc::system_error};  // no memory for it
    if (piece.empty() && stream_ended_) return {};
    decompressor::step s = decompressor_->add(piece, max_out, to);
    received_ += s.used;
    stream_ended_ = s.ended;
    if (s.ended) {
        // A final block; what follows it is a stream of its own (section 7.2.3.4).
        decompressor_->next_stream();
        s.more = s.used < piece.size();
    }
    return s;
}

errc permessage_deflate::finish() {
    // A message of no bytes is taken as empty, though section 7.2.3.6 encodes one otherwise. After
    // a final block there is nothing to complete either.
    if (received_ > 0 && !stream_ended_) {
        buffer nothing;
        const auto s = decompressor_->add(tail, 1, nothing);
        if (s.error != errc::none) return s.error;
        // It was cut in the middle of a block.
        if (!s.whole || !nothing.empty()) return errc::bad_compressed_data;
    }
    if (!receives_.context_takeover) pool_->give_back(std::move(decompressor_));
    return errc::none;
}

}  // namespace wire::ws
