// Frames out and messages in, with and without masks.
#include "bench.hpp"

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "wire/proto/ws_frame.hpp"
#include "wire/proto/ws_reader.hpp"

#ifdef WIRE_BENCH_BEAST
#include <boost/beast/websocket/detail/mask.hpp>
#endif
#ifdef WIRE_BENCH_WSLAY
#include <wslay/wslay.h>
#endif

namespace wire::bench {

namespace {

constexpr ws::mask_key key{0x12, 0x34, 0x56, 0x78};

template <bool Masked> void encode_wire(benchmark::State& state, std::string_view payload) {
    buffer out;
    for (auto _ : state) {
        ws::append_frame(out, ws::opcode::binary, payload,
                         Masked ? std::optional(key) : std::nullopt);
        benchmark::DoNotOptimize(out.data());
        out.clear();
    }
}

// As a socket would: the frame lies in a buffer of the loop's, which the reader may write to.
template <bool Masked> void decode_wire(benchmark::State& state, std::string_view payload) {
    buffer frame;
    ws::append_frame(frame, ws::opcode::binary, payload,
                     Masked ? std::optional(key) : std::nullopt);
    std::vector<char> received(frame.size());
    constexpr limits bounds;
    ws::message_reader reader(Masked ? ws::role::server : ws::role::client, bounds);
    bool right = true;
    for (auto _ : state) {
        std::memcpy(received.data(), frame.data(), frame.size());
        const ws::step s = reader.read(received);
        right = s.what == ws::event::message && s.data.size() == payload.size();
        benchmark::DoNotOptimize(s.data.data());
    }
    check{state}(right);
}

void mask_wire(benchmark::State& state, std::string_view payload) {
    std::string data(payload);
    for (auto _ : state) {
        ws::apply_mask(data, key);
        benchmark::DoNotOptimize(data.data());
    }
}

#ifdef WIRE_BENCH_BEAST

// Beast's codec is part of its stream: only its mask can be called by itself.
void mask_beast(benchmark::State& state, std::string_view payload) {
    namespace detail = boost::beast::websocket::detail;
    std::string data(payload);
    for (auto _ : state) {
        detail::prepared_key prepared;
        detail::prepare_key(prepared, 0x78563412);
        detail::mask_inplace(boost::asio::mutable_buffer(data.data(), data.size()), prepared);
        benchmark::DoNotOptimize(data.data());
    }
}

#endif

#ifdef WIRE_BENCH_WSLAY

struct pipe_end {
    std::vector<std::uint8_t> bytes;
    std::size_t at = 0;
};

ssize_t put(const std::uint8_t* data, std::size_t n, int, void* user) {
    auto& to = *static_cast<pipe_end*>(user);
    std::memcpy(to.bytes.data() + to.at, data, n);
    to.at += n;
    return static_cast<ssize_t>(n);
}

ssize_t take(std::uint8_t* data, std::size_t n, int, void* user) {
    auto& from = *static_cast<pipe_end*>(user);
    n = std::min(n, from.bytes.size() - from.at);
    std::memcpy(data, from.bytes.data() + from.at, n);
    from.at += n;
    return n == 0 ? -1 : static_cast<ssize_t>(n);
}

int mask_with(std::uint8_t* to, std::size_t n, void*) {
    std::memcpy(to, key.data(), n);
    return 0;
}

constexpr wslay_frame_callbacks callbacks{put, take, mask_with};

template <bool Masked> void encode_wslay(benchmark::State& state, std::string_view payload) {
    pipe_end out;
    out.bytes.resize(payload.size() + 16);
    wslay_frame_context_ptr context = nullptr;
    wslay_frame_context_init(&context, &callbacks, &out);
    bool right = true;
    for (auto _ : state) {
        out.at = 0;
        wslay_frame_iocb frame{};
        frame.fin = 1;
        frame.opcode = WSLAY_BINARY_FRAME;
        frame.mask = Masked ? 1 : 0;
        frame.payload_length = frame.data_length = payload.size();
        frame.data = reinterpret_cast<const std::uint8_t*>(payload.data());
        right = wslay_frame_send(context, &frame) == static_cast<ssize_t>(payload.size());
        benchmark::DoNotOptimize(out.bytes.data());
    }
    check{state}(right);
    wslay_frame_context_free(context);
}

template <bool Masked> void decode_wslay(benchmark::State& state, std::string_view payload) {
    buffer frame;
    ws::append_frame(frame, ws::opcode::binary, payload,
                     Masked ? std::optional(key) : std::nullopt);
    pipe_end in;
    in.bytes.assign(frame.view().begin(), frame.view().end());
    wslay_frame_context_ptr context = nullptr;
    wslay_frame_context_init(&context, &callbacks, &in);
    bool right = true;
    for (auto _ : state) {
        in.at = 0;
        std::size_t came = 0;
        wslay_frame_iocb got{};
        do {
            if (wslay_frame_recv(context, &got) < 0) break;
            benchmark::DoNotOptimize(got.data);
            came += got.data_length;
        } while (came < payload.size());
        right = came == payload.size();
    }
    check{state}(right);
    wslay_frame_context_free(context);
}

#endif

}  // namespace

void add_websocket() {
    for (const std::size_t size : {16UL, 125UL, 1024UL, 65536UL}) {
        const std::string payload(size, 'x');
        const std::string n = std::to_string(size);
        add("mask/" + n + "/wire", mask_wire, payload);
#ifdef WIRE_BENCH_BEAST
        add("mask/" + n + "/beast", mask_beast, payload);
#endif
        add("encode/" + n + "/wire", encode_wire<false>, payload);
#ifdef WIRE_BENCH_WSLAY
        add("encode/" + n + "/wslay", encode_wslay<false>, payload);
#endif
        add("encode-masked/" + n + "/wire", encode_wire<true>, payload);
#ifdef WIRE_BENCH_WSLAY
        add("encode-masked/" + n + "/wslay", encode_wslay<true>, payload);
#endif
        add("decode/" + n + "/wire", decode_wire<false>, payload);
#ifdef WIRE_BENCH_WSLAY
        add("decode/" + n + "/wslay", decode_wslay<false>, payload);
#endif
        add("decode-masked/" + n + "/wire", decode_wire<true>, payload);
#ifdef WIRE_BENCH_WSLAY
        add("decode-masked/" + n + "/wslay", decode_wslay<true>, payload);
#endif
    }
}

}  // namespace wire::bench
