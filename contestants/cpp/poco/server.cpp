// `rest` with POCO's HTTPServer: a factory that chooses a handler by path, as in its samples.
#include <Poco/Exception.h>
#include <Poco/JSON/Parser.h>
#include <Poco/Net/HTTPRequestHandler.h>
#include <Poco/Net/HTTPRequestHandlerFactory.h>
#include <Poco/Net/HTTPServer.h>
#include <Poco/Net/HTTPServerParams.h>
#include <Poco/Net/HTTPServerRequest.h>
#include <Poco/Net/HTTPServerResponse.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/Net/SocketAddress.h>
#include <Poco/ThreadPool.h>
#include <Poco/Timespan.h>
#include <Poco/URI.h>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

namespace {

using Poco::Net::HTTPRequest;
using Poco::Net::HTTPRequestHandler;
using Poco::Net::HTTPResponse;
using Poco::Net::HTTPServerRequest;
using Poco::Net::HTTPServerResponse;

std::string variable(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

void reply(HTTPServerResponse& response, HTTPResponse::HTTPStatus status, const std::string& text) {
    response.setStatusAndReason(status);
    response.setContentType("text/plain");
    response.sendBuffer(text.data(), text.size());
}

class Refuse : public HTTPRequestHandler {
public:
    explicit Refuse(std::string allowed) : allowed_(std::move(allowed)) {}

    void handleRequest(HTTPServerRequest&, HTTPServerResponse& response) override {
        response.set("Allow", allowed_);
        reply(response, HTTPResponse::HTTP_METHOD_NOT_ALLOWED, "method not allowed");
    }

private:
    std::string allowed_;
};

class Say : public HTTPRequestHandler {
public:
    Say(HTTPResponse::HTTPStatus status, std::string text)
        : status_(status), text_(std::move(text)) {}

    void handleRequest(HTTPServerRequest&, HTTPServerResponse& response) override {
        reply(response, status_, text_);
    }

private:
    HTTPResponse::HTTPStatus status_;
    std::string text_;
};

class PostTest : public HTTPRequestHandler {
public:
    explicit PostTest(std::chrono::milliseconds delay) : delay_(delay) {}

    void handleRequest(HTTPServerRequest& request, HTTPServerResponse& response) override {
        std::string text = "Sending response: ";
        const auto prefix_size = text.size();
        text.append(std::istreambuf_iterator<char>(request.stream()), {});
        try {
            Poco::JSON::Parser().parse(text.substr(prefix_size));
        } catch (const Poco::Exception&) {
            return reply(response, HTTPResponse::HTTP_BAD_REQUEST, "expected JSON");
        }
        if (delay_.count() > 0) std::this_thread::sleep_for(delay_);
        reply(response, HTTPResponse::HTTP_OK, text);
    }

private:
    std::chrono::milliseconds delay_;
};

class Routes : public Poco::Net::HTTPRequestHandlerFactory {
public:
    explicit Routes(std::chrono::milliseconds delay) : delay_(delay) {}

    HTTPRequestHandler* createRequestHandler(const HTTPServerRequest& request) override {
        const auto path = Poco::URI(request.getURI()).getPath();
        const auto& method = request.getMethod();
        if (path == "/test") {
            if (method != HTTPRequest::HTTP_POST) return new Refuse("POST");
            return new PostTest(delay_);
        }
        const std::string labels = "/test/labels/";
        const auto is_label = path.size() > labels.size() && path.starts_with(labels) &&
                              path.find('/', labels.size()) == path.npos;
        if (!is_label && path != "/test/status")
            return new Say(HTTPResponse::HTTP_NOT_FOUND, "not found");
        if (method != HTTPRequest::HTTP_GET) return new Refuse("GET");
        return new Say(HTTPResponse::HTTP_OK,
                       is_label ? "label: " + path.substr(labels.size()) : "OK");
    }

private:
    std::chrono::milliseconds delay_;
};

}  // namespace

int main() {
    try {
        const auto threads = std::stoi(variable("WIREBENCH_THREADS", "1"));
        Poco::Net::ServerSocket socket;
        socket.bind(Poco::Net::SocketAddress(variable("WIREBENCH_HOST", "127.0.0.1"),
                                             variable("WIREBENCH_PORT", "8080")),
                    true);
        socket.listen(4096);
        Poco::ThreadPool pool(threads, threads);
        auto* parameters = new Poco::Net::HTTPServerParams;  // the server counts its users
        parameters->setMaxThreads(threads);
        parameters->setMaxQueued(4096);
        parameters->setKeepAliveTimeout(Poco::Timespan(75, 0));
        Poco::Net::HTTPServer server(
            new Routes(std::chrono::milliseconds(std::stol(variable("WIREBENCH_DELAY_MS", "0")))),
            pool, socket, parameters);
        server.start();
        for (;;) pause();
    } catch (const Poco::Exception& failure) {
        std::cerr << "server: " << failure.displayText() << '\n';
        return 1;
    }
}
