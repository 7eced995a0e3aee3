// `rest` with cpprestsdk's http_listener, with continuations.
#include <cpprest/http_listener.h>
#include <cpprest/json.h>
#include <pplx/threadpool.h>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

namespace {

using web::http::http_request;
using web::http::http_response;
using web::http::status_codes;

std::string variable(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

void reply(const http_request& request, web::http::status_code status, const std::string& body) {
    request.reply(status, body, "text/plain");
}

void wrong_method(const http_request& request, const std::string& allowed) {
    http_response response(status_codes::MethodNotAllowed);
    response.headers().add("Allow", allowed);
    request.reply(response);
}

bool is_json(const std::string& text) {
    std::error_code failure;
    web::json::value::parse(text, failure);
    return !failure;
}

void post(http_request request, std::chrono::milliseconds delay) {
    request.extract_utf8string(true).then([request, delay](pplx::task<std::string> received) {
        std::string body;
        try {
            body = received.get();  // has come: this only hands it over, or throws
        } catch (const std::exception&) {
            // The client has left. An exception of a task that nobody takes ends the process.
            return reply(request, status_codes::BadRequest, "expected a body");
        }
        if (!is_json(body)) return reply(request, status_codes::BadRequest, "the body is not JSON");
        if (delay.count() > 0) std::this_thread::sleep_for(delay);
        reply(request, status_codes::OK, "Sending response: " + body);
    });
}

void handle(http_request request, std::chrono::milliseconds delay) {
    static const std::string labels = "/test/labels/";
    const auto path = request.relative_uri().path();
    const bool is_get = request.method() == web::http::methods::GET;
    if (path == "/test")
        return request.method() == web::http::methods::POST ? post(request, delay)
                                                            : wrong_method(request, "POST");
    const auto label = path.rfind(labels, 0) == 0 ? path.substr(labels.size()) : "";
    const bool is_label = !label.empty() && label.find('/') == label.npos;
    if (path != "/test/status" && !is_label)
        return reply(request, status_codes::NotFound, "not found");
    if (!is_get) return wrong_method(request, "GET");
    reply(request, status_codes::OK, is_label ? "label: " + label : "OK");
}

}  // namespace

int main() {
    try {
        crossplat::threadpool::initialize_with_threads(
            std::stoul(variable("WIREBENCH_THREADS", "1")));
        const std::chrono::milliseconds delay(std::stol(variable("WIREBENCH_DELAY_MS", "0")));
        web::http::experimental::listener::http_listener_config config;
        config.set_backlog(4096);
        web::http::experimental::listener::http_listener listener(
            "http://" + variable("WIREBENCH_HOST", "127.0.0.1") + ":" +
                variable("WIREBENCH_PORT", "8080") + "/",
            config);
        listener.support([delay](const http_request& request) { handle(request, delay); });
        listener.open().wait();
        for (;;) pause();
    } catch (const std::exception& failure) {
        std::cerr << "server: " << failure.what() << '\n';
        return 1;
    }
}
