// `rest` and `http.hello` with Crow, after its guide. Crow itself answers 404, and 405 where only
// the method is wrong.
#include <crow.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

std::string variable(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

crow::response text(int status, std::string body) {
    return crow::response(status, "text/plain", std::move(body));
}

void add_hello(crow::SimpleApp& app) {
    CROW_ROUTE(app, "/route_01")([] { return text(200, "hello from route_01"); });
    CROW_ROUTE(app, "/route_02")([] { return text(200, "hello from route_02"); });
}

void add_rest(crow::SimpleApp& app, std::chrono::milliseconds delay) {
    CROW_ROUTE(app, "/test").methods(crow::HTTPMethod::Post)([delay](const crow::request& request) {
        if (!crow::json::load(request.body)) return text(400, "the body is not JSON");
        if (delay.count() > 0) std::this_thread::sleep_for(delay);
        return text(200, "Sending response: " + request.body);
    });
    CROW_ROUTE(app, "/test/status")([] { return text(200, "OK"); });
    CROW_ROUTE(app, "/test/labels/<string>")(
        [](const std::string& label) { return text(200, "label: " + label); });
}

}  // namespace

int main() {
    crow::SimpleApp app;
    if (variable("WIREBENCH_WORKLOAD", "rest") == "rest") {
        add_rest(app, std::chrono::milliseconds(std::stol(variable("WIREBENCH_DELAY_MS", "0"))));
    } else {
        add_hello(app);
    }
    app.loglevel(crow::LogLevel::Critical)
        .bindaddr(variable("WIREBENCH_HOST", "127.0.0.1"))
        .port(static_cast<std::uint16_t>(std::stoul(variable("WIREBENCH_PORT", "8080"))))
        .timeout(60)
        .concurrency(static_cast<std::uint16_t>(std::stoul(variable("WIREBENCH_THREADS", "1")) +
                                                1))  // one of them accepts
        .run();
}
