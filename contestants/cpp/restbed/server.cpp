// `rest` with Restbed, after its documented examples.
#include <restbed>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "json.hpp"

namespace {

using session_t = const std::shared_ptr<restbed::Session>;

std::string variable(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

// yield() keeps the connection for the next request, close() ends it.
void reply(session_t& session, int status, const std::string& body) {
    const auto request = session->get_request();
    const auto connection =
        restbed::String::lowercase(request->get_header("Connection", std::string()));
    const bool keep_alive =
        connection != "close" && (request->get_version() > 1.0 || connection == "keep-alive");
    const std::multimap<std::string, std::string> headers{
        {"Content-Type", "text/plain"},
        {"Content-Length", std::to_string(body.size())},
        {"Connection", keep_alive ? "keep-alive" : "close"}};
    if (keep_alive) session->yield(status, body, headers);
    else session->close(status, body, headers);
}

void post(session_t& session, std::chrono::milliseconds delay) {
    const auto length = session->get_request()->get_header("Content-Length", std::size_t{0});
    session->fetch(length, [delay](session_t& session, const restbed::Bytes& bytes) {
        const std::string body(bytes.begin(), bytes.end());
        if (!wirebench::is_json(body))
            return reply(session, restbed::BAD_REQUEST, "the body is not JSON");
        if (delay.count() > 0) std::this_thread::sleep_for(delay);
        reply(session, restbed::OK, "Sending response: " + body);
    });
}

template <typename Handler>
void publish(restbed::Service& service, const std::string& path, const std::string& method,
             Handler handler) {
    const auto resource = std::make_shared<restbed::Resource>();
    resource->set_path(path);
    resource->set_method_handler(method, handler);
    service.publish(resource);
}

}  // namespace

int main() {
    const std::chrono::milliseconds delay(std::stol(variable("WIREBENCH_DELAY_MS", "0")));
    const auto settings = std::make_shared<restbed::Settings>();
    settings->set_bind_address(variable("WIREBENCH_HOST", "127.0.0.1"));
    settings->set_port(static_cast<std::uint16_t>(std::stoul(variable("WIREBENCH_PORT", "1984"))));
    settings->set_worker_limit(
        static_cast<unsigned>(std::stoul(variable("WIREBENCH_THREADS", "1"))));
    settings->set_reuse_address(true);
    settings->set_connection_limit(4096);  // of its listen queue

    restbed::Service service;
    publish(service, "/test", "POST", [delay](session_t& session) { post(session, delay); });
    publish(service, "/test/status", "GET",
            [](session_t& session) { reply(session, restbed::OK, "OK"); });
    publish(service, "/test/labels/{label: .+}", "GET", [](session_t& session) {
        reply(session, restbed::OK,
              "label: " + session->get_request()->get_path_parameter("label"));
    });
    const auto wrong_method = [](session_t& session) {
        reply(session, restbed::METHOD_NOT_ALLOWED, "method not allowed");
    };
    service.set_method_not_allowed_handler(wrong_method);
    service.set_method_not_implemented_handler(wrong_method);  // a method that no resource has
    service.set_not_found_handler(
        [](session_t& session) { reply(session, restbed::NOT_FOUND, "not found"); });
    service.start(settings);
}
