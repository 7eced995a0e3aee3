// What a text message and an opening handshake cost besides framing.
#include "bench.hpp"

#include "wire/proto/utf8.hpp"
#include "wire/proto/ws_handshake.hpp"

#ifdef WIRE_BENCH_BEAST
#include <boost/beast/websocket/detail/hybi13.hpp>
#include <boost/beast/websocket/detail/utf8_checker.hpp>
#endif

namespace wire::bench {

namespace {

void utf8_wire(benchmark::State& state, std::string_view text) {
    bool right = true;
    for (auto _ : state) {
        right = is_utf8(text);
        benchmark::DoNotOptimize(right);
    }
    check{state}(right);
}

void accept_wire(benchmark::State& state, std::string_view key) {
    std::string accept;
    for (auto _ : state) {
        accept = ws::accept_key(key);
        benchmark::DoNotOptimize(accept.data());
    }
    check{state}(accept == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");  // RFC 6455 section 1.3
}

#ifdef WIRE_BENCH_BEAST

void utf8_beast(benchmark::State& state, std::string_view text) {
    bool right = true;
    for (auto _ : state) {
        right = boost::beast::websocket::detail::check_utf8(text.data(), text.size());
        benchmark::DoNotOptimize(right);
    }
    check{state}(right);
}

void accept_beast(benchmark::State& state, std::string_view key) {
    namespace detail = boost::beast::websocket::detail;
    detail::sec_ws_accept_type accept;
    for (auto _ : state) {
        detail::make_sec_ws_accept(accept, {key.data(), key.size()});
        benchmark::DoNotOptimize(accept.data());
    }
    check{state}(accept == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#endif

std::string repeated(std::string_view text, std::size_t bytes) {
    std::string out;
    while (out.size() < bytes) out += text;
    return out;
}

}  // namespace

void add_digests() {
    const struct {
        const char* name;
        std::string text;
    } texts[] = {
        {"ascii-64", repeated("{\"c\":1234567}, ", 64)},
        {"ascii-4096", repeated("{\"c\":1234567}, ", 4096)},
        {"german-4096",
         repeated("Zwölf Boxkämpfer jagen Viktor quer über den großen Deich. ", 4096)},
        {"japanese-4096", repeated("いろはにほへとちりぬるを", 4096)},
        {"emoji-4096", repeated("😀🎉🚀", 4096)},
    };
    for (const auto& t : texts) {
        add(std::string("utf8/") + t.name + "/wire", utf8_wire, t.text);
#ifdef WIRE_BENCH_BEAST
        add(std::string("utf8/") + t.name + "/beast", utf8_beast, t.text);
#endif
    }
    const std::string key = "dGhlIHNhbXBsZSBub25jZQ==";
    add("accept-key/24/wire", accept_wire, key);
#ifdef WIRE_BENCH_BEAST
    add("accept-key/24/beast", accept_beast, key);
#endif
}

}  // namespace wire::bench
