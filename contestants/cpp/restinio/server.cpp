// `rest` and `http.hello` with RESTinio's Express router, after its documentation.
#include <restinio/all.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "json.hpp"

namespace {

using router_t = restinio::router::express_router_t<>;
using restinio::request_handle_t;

std::string variable(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

restinio::request_handling_status_t reply(const request_handle_t& request,
                                          restinio::http_status_line_t status, std::string body) {
    return request->create_response(std::move(status))
        .append_header(restinio::http_field::content_type, "text/plain")
        .set_body(std::move(body))
        .done();
}

// By default a path matches in any case and with a slash behind it.
const auto exactly = restinio::path2regex::options_t{}.sensitive(true).strict(true);

template <typename Handler>
void serve(router_t& router, restinio::http_method_id_t method, restinio::string_view_t path,
           Handler handler) {
    router.add_handler(method, path, exactly, std::move(handler));
    router.add_handler(restinio::router::none_of_methods(method), path, exactly,
                       [method](const auto& request, auto) {
                           return request->create_response(restinio::status_method_not_allowed())
                               .append_header(restinio::http_field::allow, method.c_str())
                               .done();
                       });
}

std::unique_ptr<router_t> make_router(const std::string& workload,
                                      std::chrono::milliseconds delay) {
    auto router = std::make_unique<router_t>();
    const auto get = restinio::http_method_get();
    if (workload == "http.hello") {
        for (const std::string route : {"route_01", "route_02"})
            serve(*router, get, "/" + route, [route](const auto& request, auto) {
                return reply(request, restinio::status_ok(), "hello from " + route);
            });
    } else {
        serve(*router, restinio::http_method_post(), "/test", [delay](const auto& request, auto) {
            if (!wirebench::is_json(request->body()))
                return reply(request, restinio::status_bad_request(), "the body is not JSON");
            if (delay.count() > 0) std::this_thread::sleep_for(delay);
            return reply(request, restinio::status_ok(), "Sending response: " + request->body());
        });
        serve(*router, get, "/test/status", [](const auto& request, auto) {
            return reply(request, restinio::status_ok(), "OK");
        });
        serve(*router, get, "/test/labels/:label", [](const auto& request, auto parameters) {
            return reply(request, restinio::status_ok(),
                         "label: " + restinio::cast_to<std::string>(parameters["label"]));
        });
    }
    router->non_matched_request_handler([](const auto& request) {
        return reply(request, restinio::status_not_found(), "not found");
    });
    return router;
}

}  // namespace

int main() {
    struct traits : restinio::default_traits_t {
        using request_handler_t = router_t;
    };
    try {
        const std::chrono::milliseconds delay(std::stol(variable("WIREBENCH_DELAY_MS", "0")));
        // It has none by default.
        const auto limits = restinio::incoming_http_msg_limits_t{}
                                .max_url_size(64 * 1024)
                                .max_field_name_size(1024)
                                .max_field_value_size(64 * 1024)
                                .max_field_count(100)
                                .max_body_size(16 * 1024 * 1024);
        restinio::run(
            restinio::on_thread_pool<traits>(std::stoul(variable("WIREBENCH_THREADS", "1")))
                .address(variable("WIREBENCH_HOST", "127.0.0.1"))
                .port(static_cast<std::uint16_t>(std::stoul(variable("WIREBENCH_PORT", "8080"))))
                .incoming_http_msg_limits(limits)
                .socket_options_setter([](auto& options) {
                    options.set_option(restinio::asio_ns::ip::tcp::no_delay(true));
                })
                .request_handler(make_router(variable("WIREBENCH_WORKLOAD", "rest"), delay)));
        return 0;
    } catch (const std::exception& failure) {
        std::cerr << "server: " << failure.what() << '\n';
        return 1;
    }
}
