#include "http_service.hpp"
#include "json.hpp"
#include "services.hpp"
#include "utf8.hpp"
#include "websocket.hpp"

namespace wirebench {
namespace {

// Larger messages go out from where they lie; smaller ones are worth a copy that is written with
// others.
constexpr std::size_t copied_message_bytes = 16 * 1024;

constexpr std::size_t most_unread = 1024 * 1024;

class websocket_service : public http_service {
public:
    explicit websocket_service(websocket_kind kind) : kind_(kind) {}

private:
    std::size_t on_bytes(event_loop& loop, connection& from, char* data, std::size_t size,
                         parse_state& state) override {
        std::size_t used = 0;
        if (!from.websocket) used = http_service::on_bytes(loop, from, data, size, state);
        if (from.websocket) used += on_frames(loop, from, data + used, size - used, state);
        return used;
    }

    void on_request(event_loop& loop, connection& from, const http1::request& request) override {
        if (request.path != "/") return reply(loop, from, request, not_found_);
        if (request.method != "GET" || request.http_1_0 || !request.upgrades_to_websocket)
            return reply(loop, from, request, upgrade_);
        if (!request.websocket_version_13) return reply(loop, from, request, version_);
        if (!websocket::is_key(request.websocket_key)) return reply(loop, from, request, bad_key_);
        auto& out = loop.scratch();
        const auto begin = out.size();
        out.append(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
            "Upgrade\r\nSec-WebSocket-Accept: ");
        out.append(websocket::accept_key(request.websocket_key)).append("\r\n\r\n");
        loop.queue_scratch(from, begin);
        from.websocket = true;
        if (kind_ != websocket_kind::broadcast) return;
        from.place = static_cast<std::uint32_t>(subscribers_.size());
        subscribers_.push_back(&from);
    }

    void on_closed(connection& gone) override {
        if (kind_ != websocket_kind::broadcast || !gone.websocket) return;
        subscribers_[gone.place] = subscribers_.back();
        subscribers_[gone.place]->place = gone.place;
        subscribers_.pop_back();
    }

    std::size_t on_frames(event_loop& loop, connection& from, char* data, std::size_t size,
                          parse_state& state) {
        std::size_t used = 0;
        state.need = 0;
        while (used < size && !loop.is_full(from)) {
            websocket::frame frame;
            const auto result = websocket::parse(data + used, size - used, frame);
            if (result.kind == websocket::progress::need_more) {
                state.need = result.need;
                break;
            }
            if (result.kind == websocket::progress::error) {
                fail(loop, from, result.code);
                break;
            }
            on_frame(loop, from, frame);
            used += result.size;
        }
        return used;
    }

    void on_frame(event_loop& loop, connection& from, const websocket::frame& frame) {
        using namespace websocket;
        if (frame.op == ping) return send(loop, from, pong, frame.payload);
        if (frame.op == pong) return;
        if (frame.op == close) return on_close(loop, from, frame.payload);
        if ((frame.op == continuation) != (from.message != nullptr))
            return fail(loop, from, protocol_error);
        if (frame.final && from.message == nullptr)
            return on_message(loop, from, frame.op, frame.payload);
        if (from.message == nullptr)
            from.message = std::make_unique<fragments>(fragments{frame.op, {}});
        auto& message = *from.message;
        if (frame.payload.size() > max_message_bytes - message.bytes.size())
            return fail(loop, from, too_big);
        message.bytes.append(frame.payload);
        if (!frame.final) return;
        const auto whole = std::move(from.message);
        on_message(loop, from, whole->op, whole->bytes);
    }

    void on_message(event_loop& loop, connection& from, unsigned op, std::string_view payload) {
        if (op == websocket::text && !utf8::valid(payload))
            return fail(loop, from, websocket::not_utf8);
        if (kind_ == websocket_kind::echo) return send(loop, from, op, payload);
        if (kind_ == websocket_kind::broadcast) return send_to_all(loop, op, payload);
        if (!answer_count(payload, answer_)) return fail(loop, from, websocket::not_utf8);
        send(loop, from, websocket::text, text_of(answer_));
    }

    void on_close(event_loop& loop, connection& from, std::string_view payload) {
        if (payload.empty()) {
            send(loop, from, websocket::close, {});
        } else {
            const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(payload[i]); };
            if (payload.size() == 1 ||
                !websocket::is_close_code(static_cast<unsigned>(byte(0) << 8 | byte(1))))
                return fail(loop, from, websocket::protocol_error);
            if (!utf8::valid(payload.substr(2))) return fail(loop, from, websocket::not_utf8);
            send(loop, from, websocket::close, payload.substr(0, 2));
        }
        from.closing = true;
    }

    void send_to_all(event_loop& loop, unsigned op, std::string_view payload) {
        auto& out = loop.scratch();
        const auto begin = out.size();
        websocket::append_head(out, op, payload.size());
        out.append(payload);
        for (connection* to : subscribers_) {
            if (to->closing || (to->out != nullptr && to->out->bytes.size() > most_unread))
                continue;
            loop.queue_shared(*to, begin);
        }
    }

    static void send(event_loop& loop, connection& to, unsigned op, std::string_view payload) {
        auto& out = loop.scratch();
        const auto begin = out.size();
        websocket::append_head(out, op, payload.size());
        if (payload.size() <= copied_message_bytes) out.append(payload);
        loop.queue_scratch(to, begin);
        if (payload.size() > copied_message_bytes) loop.send_borrowed(to, payload);
    }

    static void fail(event_loop& loop, connection& to, websocket::close_code code) {
        const char payload[] = {static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
        send(loop, to, websocket::close, {payload, sizeof payload});
        to.closing = true;
        to.lingers = true;
    }

    websocket_kind kind_;
    rapidjson::StringBuffer answer_;
    std::vector<connection*> subscribers_;  // under broadcast
    http1::fixed_response upgrade_{"426 Upgrade Required", "Upgrade: websocket\r\n", ""};
    http1::fixed_response version_{"426 Upgrade Required",
                                   "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n", ""};
    http1::fixed_response bad_key_{"400 Bad Request", "", ""};
};

}  // namespace

std::unique_ptr<service> make_websocket(websocket_kind kind) {
    return std::make_unique<websocket_service>(kind);
}

}  // namespace wirebench
