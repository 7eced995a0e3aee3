// Takes a request's body from its source and gives a response's body away, piece by piece.
#include "transfer.hpp"

#include <algorithm>
#include <utility>

#include "connection.hpp"
#include "wire/proto/http_writer.hpp"

namespace wire::http {

namespace {

constexpr std::size_t most_at_once = 64 * 1024;

error broken_word(std::string_view what) {
    return {errc::bad_argument, "request body: the source " + std::string(what)};
}

}  // namespace

void client_transfer::begin() {
    sending = upload::none;
    piece_.clear();
    if (std::exchange(pulled, false)) rewinds = true;
}

result<source_state> client_transfer::pull(const body_source& source, buffer& out) {
    if (source.length && left == 0) return source_state::end;
    pulled = true;
    if (std::exchange(rewinds, false) && source.rewind) {
        source.rewind();
        if (on == nullptr) return result<source_state>(errc::cancelled);  // by that call
    }
    const std::size_t most =
        source.length ? static_cast<std::size_t>(std::min<std::uint64_t>(left, most_at_once))
                      : most_at_once;
    auto state = source.pull(piece_, most);
    if (!state) return error(state.code(), "request body: " + state.error().message);
    if (piece_.size() > most) return broken_word("gave more than was asked for");
    if (*state == source_state::more && piece_.empty()) return broken_word("gave nothing");
    if (source.length) {
        left -= piece_.size();
        out.append(piece_.view());
        if (left == 0) {
            state = source_state::end;
        } else if (*state == source_state::end) {
            return broken_word("ended before its length");
        }
    } else {
        append_chunk(out, piece_.view());
        if (*state == source_state::end) append_last_chunk(out);
    }
    piece_.clear();
    return state;
}

errc client_transfer::give(std::string_view piece) {
    if (!decoder) {
        if (!piece.empty() && data) data(piece);
        return errc::none;
    }
    std::string_view rest = encoded_.empty() ? piece : encoded_.view();
    const std::size_t had = rest.size();
    errc failed = errc::none;
    while (on != nullptr && !paused && failed == errc::none &&
           (!rest.empty() || decoder->has_more())) {
        plain_.clear();
        failed = decoder->add(rest, most_at_once, plain_);
        if (failed == errc::none && !plain_.empty() && data) data(plain_.view());
    }
    if (encoded_.empty()) {
        encoded_.append(rest);
    } else {
        encoded_.consume(had - rest.size());
    }
    return failed;
}

void client_transfer::on_wake(void* self) {
    if (auto* const c = static_cast<client_transfer*>(self)->on) c->go_on();
}

}  // namespace wire::http
