#include "engine/broadcast_ledger.hpp"

namespace wireload {

void broadcast_ledger::sent(std::uint32_t subscribers, nanos at) {
    slot(++last_) = {.waiting = subscribers, .whole = true, .sent_at = at};
    ++in_flight_;
    ++window_.broadcasts().messages;
}

bool broadcast_ledger::settle(entry& e) {
    if (--e.waiting != 0) return false;
    --in_flight_;
    return true;
}

bool broadcast_ledger::delivered(std::uint64_t n, nanos at) {
    entry& e = slot(n);
    if (!settle(e)) return false;
    // After the window's end the main thread reads what there is.
    if (e.whole && window_.loading()) {
        ++window_.broadcasts().complete;
        last_delivery_.record(static_cast<std::uint64_t>(at > e.sent_at ? at - e.sent_at : 0));
    }
    return true;
}

bool broadcast_ledger::missed(std::uint64_t n) {
    entry& e = slot(n);
    e.whole = false;
    return settle(e);
}

}  // namespace wireload
