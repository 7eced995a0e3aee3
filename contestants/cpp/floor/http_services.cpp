#include "http_service.hpp"
#include "json.hpp"
#include "services.hpp"

#include <array>
#include <ctime>
#include <deque>
#include <string>

namespace wirebench {

namespace {

constexpr std::string_view text_plain = "Content-Type: text/plain\r\n";
constexpr std::string_view octets = "Content-Type: application/octet-stream\r\n";

std::string bytes_of_payload(std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + i % 26);
    return out;
}

// Paths that always get the same reply. With `echoes`, what a page holds can also be posted to it:
// the reply is then the same, and so an echo.
class fixed_pages : public http_service {
public:
    struct page {
        std::string_view path;
        http1::fixed_response reply;
    };
    explicit fixed_pages(std::vector<page> pages, bool echoes)
        : pages_(std::move(pages)),
          echoes_(echoes),
          wrong_method_("405 Method Not Allowed",
                        std::string(echoes ? "Allow: GET, HEAD, POST\r\n" : "Allow: GET, HEAD\r\n")
                            .append(text_plain),
                        "method not allowed") {}

private:
    void on_request(event_loop& loop, connection& from, const http1::request& request) override {
        for (const auto& page : pages_)
            if (request.path == page.path)
                return reply(loop, from, request, answer(request, page.reply));
        reply(loop, from, request, not_found_);
    }

    const http1::fixed_response& answer(const http1::request& request,
                                        const http1::fixed_response& page) const {
        if (request.method == "GET" || request.method == "HEAD") return page;
        if (!echoes_ || request.method != "POST") return wrong_method_;
        return request.body == page.body() ? page : other_body_;
    }

    std::vector<page> pages_;
    bool echoes_;
    http1::fixed_response wrong_method_;
    http1::fixed_response other_body_{"400 Bad Request", text_plain,
                                      "expected the payload itself as the body"};
};

std::int64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

class rest : public http_service {
public:
    rest(std::int64_t delay_ns, std::size_t slots) : delay_ns_(delay_ns), slots_(slots) {}

private:
    struct post {
        connection* from;
        std::string body;
        bool keep_alive;
        bool http_1_0;
        std::int64_t due_ns;
    };

    void on_request(event_loop& loop, connection& from, const http1::request& request) override {
        constexpr std::string_view labels = "/test/labels/";
        const bool is_get = request.method == "GET" || request.method == "HEAD";
        if (request.path == "/test") {
            if (request.method != "POST") return reply(loop, from, request, post_only_);
            if (!is_json(request.body)) return reply(loop, from, request, not_json_);
            if (delay_ns_ > 0) return delay(loop, from, request);
            return answer(loop, from, request.keep_alive, request.http_1_0, posted, request.body);
        }
        if (request.path == "/test/status")
            return reply(loop, from, request, is_get ? ok_ : get_only_);
        if (request.path.starts_with(labels)) {
            const auto label = request.path.substr(labels.size());
            if (label.empty() || label.find('/') != label.npos)
                return reply(loop, from, request, not_found_);
            if (!is_get) return reply(loop, from, request, get_only_);
            return answer(loop, from, request.keep_alive, request.http_1_0, "label: ", label,
                          request.method == "HEAD");
        }
        reply(loop, from, request, not_found_);
    }

    static void answer(event_loop& loop, connection& to, bool keep_alive, bool http_1_0,
                       std::string_view before, std::string_view text, bool head_only = false) {
        auto& out = loop.scratch();
        const auto from = out.size();
        out.append("HTTP/1.1 200 OK\r\n").append(text_plain).append("Content-Length: ");
        char digits[24];
        const auto end =
            std::to_chars(digits, digits + sizeof digits, before.size() + text.size()).ptr;
        out.append(digits, static_cast<std::size_t>(end - digits)).append("\r\n");
        out.append(http1::fixed_response::connection_field(keep_alive, http_1_0)).append("\r\n");
        if (!head_only) out.append(before).append(text);
        loop.queue_scratch(to, from);
        if (!keep_alive) to.closing = true;
    }

    void delay(event_loop& loop, connection& from, const http1::request& request) {
        loop.hold(from);
        waiting_.push_back(
            {&from, std::string(request.body), request.keep_alive, request.http_1_0, 0});
        begin_delays(loop, monotonic_ns());
    }

    void begin_delays(event_loop& loop, std::int64_t now) {
        while (delayed_.size() < slots_ && !waiting_.empty()) {
            auto next = std::move(waiting_.front());
            waiting_.pop_front();
            if (next.from->fd < 0) {  // the client left before its turn
                loop.release(*next.from);
                continue;
            }
            next.due_ns = now + delay_ns_;
            delayed_.push_back(std::move(next));
            if (delayed_.size() == 1) loop.set_timer(delayed_.front().due_ns);
        }
    }

    // All delays are equal, so they end in the order in which they began.
    void on_timer(event_loop& loop) override {
        const auto now = monotonic_ns();
        while (!delayed_.empty() && delayed_.front().due_ns <= now) {
            const auto& post = delayed_.front();
            if (post.from->fd >= 0)
                answer(loop, *post.from, post.keep_alive, post.http_1_0, posted, post.body);
            loop.release(*post.from);
            delayed_.pop_front();
        }
        if (!delayed_.empty()) loop.set_timer(delayed_.front().due_ns);
        begin_delays(loop, now);
    }

    static constexpr std::string_view posted = "Sending response: ";

    std::int64_t delay_ns_;
    std::size_t slots_;
    std::deque<post> delayed_;
    std::deque<post> waiting_;
    http1::fixed_response ok_{"200 OK", text_plain, "OK"};
    http1::fixed_response post_only_{"405 Method Not Allowed",
                                     "Allow: POST\r\nContent-Type: text/plain\r\n",
                                     "method not allowed"};
    http1::fixed_response get_only_{"405 Method Not Allowed",
                                    "Allow: GET, HEAD\r\nContent-Type: text/plain\r\n",
                                    "method not allowed"};
    http1::fixed_response not_json_{"400 Bad Request", text_plain, "the body is not JSON"};
};

}  // namespace

std::unique_ptr<service> make_hello() {
    std::vector<fixed_pages::page> pages;
    pages.push_back({"/route_01", {"200 OK", text_plain, "hello from route_01"}});
    pages.push_back({"/route_02", {"200 OK", text_plain, "hello from route_02"}});
    return std::make_unique<fixed_pages>(std::move(pages), false);
}

std::unique_ptr<service> make_payload() {
    std::vector<fixed_pages::page> pages;
    pages.push_back({"/payload/16", {"200 OK", octets, bytes_of_payload(16)}});
    pages.push_back({"/payload/1024", {"200 OK", octets, bytes_of_payload(1024)}});
    pages.push_back({"/payload/65536", {"200 OK", octets, bytes_of_payload(65536)}});
    pages.push_back({"/payload/1048576", {"200 OK", octets, bytes_of_payload(1048576)}});
    return std::make_unique<fixed_pages>(std::move(pages), true);
}

std::unique_ptr<service> make_rest(std::int64_t delay_ns, std::size_t slots) {
    return std::make_unique<rest>(delay_ns, slots);
}

}  // namespace wirebench
