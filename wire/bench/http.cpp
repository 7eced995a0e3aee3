// Heads and chunked bodies. All do the same work: every field as a pair of views, the body's
// framing, whether the connection is kept.
#include "bench.hpp"

#include "inputs.hpp"
#include "wire/proto/http_parser.hpp"

#ifdef WIRE_BENCH_BEAST
#include <boost/beast/http/basic_parser.hpp>
#endif
#ifdef WIRE_BENCH_HTTP_PARSER
#include <http_parser.h>
#endif

namespace wire::bench {

namespace {

constexpr limits bounds;

// One message with wire; how many bytes its body had, -1 when it was not understood.
template <typename Parser, typename Head>
long one(Parser& parser, std::string_view in, Head& head) {
    long body = 0;
    for (;;) {
        const http::step s = parser.parse(in, head);
        in.remove_prefix(s.consumed);
        if (s.what == http::event::body) {
            benchmark::DoNotOptimize(s.data.data());
            body += static_cast<long>(s.data.size());
        }
        if (s.what == http::event::end) return in.empty() && !head.headers.empty() ? body : -1;
        if (s.what == http::event::error || s.what == http::event::need_more) return -1;
    }
}

template <typename Parser, typename Head>
void with_wire(benchmark::State& state, std::string_view in) {
    Head head;
    Parser parser(bounds);
    long body = 0;
    for (auto _ : state) {
        body = one(parser, in, head);
        benchmark::DoNotOptimize(head.headers[head.headers.size() - 1].value.data());
        benchmark::DoNotOptimize(head.keep_alive);
    }
    check{state}(body >= 0);
}

// What a user of the peers has to write to get what wire gives.
struct collected {
    std::string_view target;
    std::vector<http::header> fields;
    std::size_t body = 0;
    bool keep_alive = false;
    bool complete = false;
    void clear() {
        fields.clear();
        body = 0;
        keep_alive = complete = false;
    }
};

#ifdef WIRE_BENCH_HTTP_PARSER

collected& of(http_parser* p) { return *static_cast<collected*>(p->data); }

template <http_parser_type Type>
void with_http_parser(benchmark::State& state, std::string_view in) {
    http_parser_settings settings;
    http_parser_settings_init(&settings);
    settings.on_url = [](http_parser* p, const char* at, std::size_t n) {
        of(p).target = {at, n};
        return 0;
    };
    settings.on_header_field = [](http_parser* p, const char* at, std::size_t n) {
        of(p).fields.push_back({{at, n}, {}});
        return 0;
    };
    settings.on_header_value = [](http_parser* p, const char* at, std::size_t n) {
        of(p).fields.back().value = {at, n};
        return 0;
    };
    settings.on_body = [](http_parser* p, const char* at, std::size_t n) {
        benchmark::DoNotOptimize(at);
        of(p).body += n;
        return 0;
    };
    settings.on_message_complete = [](http_parser* p) {
        of(p).keep_alive = http_should_keep_alive(p) != 0;
        of(p).complete = true;
        return 0;
    };
    http_parser parser;
    http_parser_init(&parser, Type);
    collected result;
    parser.data = &result;
    bool right = true;
    for (auto _ : state) {
        result.clear();
        right = http_parser_execute(&parser, &settings, in.data(), in.size()) == in.size() &&
                result.complete;
        benchmark::DoNotOptimize(result.fields.data());
    }
    check{state}(right && !result.fields.empty());
}

#endif

#ifdef WIRE_BENCH_BEAST

namespace beast = boost::beast;

// As Beast's own parsers are made, but with views instead of copies of the fields.
template <bool IsRequest> class beast_parser : public beast::http::basic_parser<IsRequest> {
public:
    explicit beast_parser(collected& result) : result_(&result) {
        this->eager(true);
        this->body_limit(bounds.max_body_bytes);
        this->header_limit(static_cast<std::uint32_t>(bounds.max_header_bytes));
    }

private:
    using text = beast::string_view;
    using failure = beast::error_code;
    static std::string_view view(text t) { return {t.data(), t.size()}; }

    void on_request_impl(beast::http::verb, text, text target, int, failure&) override {
        result_->target = view(target);
    }
    void on_response_impl(int, text, int, failure&) override {}
    void on_field_impl(beast::http::field, text name, text value, failure&) override {
        result_->fields.push_back({view(name), view(value)});
    }
    void on_header_impl(failure&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, failure&) override {}
    std::size_t on_body_impl(text piece, failure&) override {
        result_->body += piece.size();
        return piece.size();
    }
    void on_chunk_header_impl(std::uint64_t, text, failure&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, text piece, failure&) override {
        benchmark::DoNotOptimize(piece.data());
        result_->body += piece.size();
        return piece.size();
    }
    void on_finish_impl(failure&) override { result_->complete = true; }

    collected* result_;
};

template <bool IsRequest> void with_beast(benchmark::State& state, std::string_view in) {
    collected result;
    bool right = true;
    for (auto _ : state) {
        result.clear();
        beast_parser<IsRequest> parser(result);  // one parses one message
        std::string_view left = in;
        beast::error_code failed;
        while (!parser.is_done() && !failed && !left.empty()) {
            left.remove_prefix(parser.put(boost::asio::buffer(left.data(), left.size()), failed));
        }
        result.keep_alive = parser.keep_alive();
        right = parser.is_done() && left.empty();
        benchmark::DoNotOptimize(result.fields.data());
        benchmark::DoNotOptimize(result.keep_alive);
    }
    check{state}(right && result.complete && !result.fields.empty());
}

#endif

void add_request(const std::string& name, const std::string& in) {
    add(name + "/wire", with_wire<http::request_parser, http::request_head>, in);
#ifdef WIRE_BENCH_HTTP_PARSER
    add(name + "/http_parser", with_http_parser<HTTP_REQUEST>, in);
#endif
#ifdef WIRE_BENCH_BEAST
    add(name + "/beast", with_beast<true>, in);
#endif
}

}  // namespace

void add_http() {
    add_request("request/short", std::string(short_get));
    add_request("request/browser", std::string(browser_get));
    add_request("chunked/64x16", chunked_request(64, 16));
    add_request("chunked/64x1024", chunked_request(64, 1024));
    add_request("chunked/16x16384", chunked_request(16, 16384));
    const std::string response(big_response);
    add("response/big/wire", with_wire<http::response_parser, http::response_head>, response);
#ifdef WIRE_BENCH_HTTP_PARSER
    add("response/big/http_parser", with_http_parser<HTTP_RESPONSE>, response);
#endif
#ifdef WIRE_BENCH_BEAST
    add("response/big/beast", with_beast<false>, response);
#endif
}

}  // namespace wire::bench
