// `rest` with cpp-httplib, after its README.
#include <httplib.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <regex>
#include <string>
#include <thread>

#include "json.hpp"

namespace {

std::string variable(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

// The library answers 404 to a known path with another method; the contract wants 405.
bool is_known(const std::string& path) {
    static const std::regex known("/test(/status|/labels/[^/]+)?");
    return std::regex_match(path, known);
}

}  // namespace

int main() {
    const auto threads = std::stoul(variable("WIREBENCH_THREADS", "1"));
    const std::chrono::milliseconds delay(std::stol(variable("WIREBENCH_DELAY_MS", "0")));

    httplib::Server server;
    server.new_task_queue = [threads] { return new httplib::ThreadPool(threads); };
    // The default closes after five requests.
    server.set_keep_alive_max_count(std::numeric_limits<size_t>::max());
    server.set_payload_max_length(16 * 1024 * 1024);  // no limit by default

    server.Post("/test", [delay](const httplib::Request& request, httplib::Response& response) {
        if (!wirebench::is_json(request.body)) {
            response.status = 400;
            response.set_content("the body is not JSON", "text/plain");
            return;
        }
        if (delay.count() > 0) std::this_thread::sleep_for(delay);
        response.set_content("Sending response: " + request.body, "text/plain");
    });
    server.Get("/test/status", [](const httplib::Request&, httplib::Response& response) {
        response.set_content("OK", "text/plain");
    });
    server.Get("/test/labels/([^/]+)",
               [](const httplib::Request& request, httplib::Response& response) {
                   response.set_content("label: " + request.matches[1].str(), "text/plain");
               });
    server.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
        if (response.status != 404 || !is_known(request.path)) return;
        response.status = 405;
        response.set_header("Allow", request.path == "/test" ? "POST" : "GET");
    });

    const auto host = variable("WIREBENCH_HOST", "127.0.0.1");
    if (!server.listen(host, std::stoi(variable("WIREBENCH_PORT", "8080")))) {
        std::fprintf(stderr, "cannot listen on %s:%s\n", host.c_str(),
                     variable("WIREBENCH_PORT", "8080").c_str());
        return 1;
    }
}
