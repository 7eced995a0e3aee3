#include "client.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace wirebench {
namespace {

std::string text_of(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

std::uint64_t number_of(const char* name, const char* otherwise) {
    const auto text = text_of(name, otherwise);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        throw std::invalid_argument(std::string(name) + ": expected a number, got '" + text + "'");
    return value;
}

}  // namespace

std::string pattern(std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + i % 26);
    return out;
}

session::session(settings settings, policy how, std::string expected)
    : settings_(std::move(settings)), policy_(how), expected_(std::move(expected)) {
    settings_.new_connections = policy_ == policy::renew;
    if (policy_ != policy::cold) client_ = make_client(settings_);
}

session::~session() {
    try {
        finish();
    } catch (const std::exception&) {
        // Whoever cares how the closing went calls finish().
    }
}

void session::prepare() {
    if (policy_ == policy::reuse) connect();
}

void session::operate() {
    try {
        connect();
        const auto got = client_->operation();
        if (got != expected_) {
            throw std::runtime_error("expected " + std::to_string(expected_.size()) +
                                     " bytes of the pattern, got " + std::to_string(got.size()) +
                                     " bytes: " + std::string(got.substr(0, 64)));
        }
        if (policy_ != policy::reuse) finish();
    } catch (...) {
        try {
            finish();
        } catch (const std::exception&) {
            // The first failure is the one to tell.
        }
        throw;
    }
}

void session::finish() {
    try {
        if (std::exchange(open_, false)) client_->close();
    } catch (...) {
        drop();
        throw;
    }
    drop();
}

std::uint64_t session::connections() const {
    return dropped_ + (client_ != nullptr ? client_->connections() : 0);
}

void session::connect() {
    if (client_ == nullptr) client_ = make_client(settings_);
    if (open_) return;
    client_->open();
    open_ = true;
}

void session::drop() noexcept {
    if (policy_ != policy::cold || client_ == nullptr) return;
    dropped_ += client_->connections();
    client_.reset();
}

environment read_environment() {
    environment out;
    out.settings.url = text_of("WIREBENCH_URL", "");
    if (out.settings.url.empty())
        throw std::invalid_argument("WIREBENCH_URL: expected http://... or ws://..., got nothing");
    out.settings.ca_file = text_of("WIREBENCH_CA_FILE", "");
    const auto policy = text_of("WIREBENCH_POLICY", "reuse");
    if (policy != "reuse" && policy != "new" && policy != "cold")
        throw std::invalid_argument("WIREBENCH_POLICY: expected reuse, new or cold, got '" +
                                    policy + "'");
    out.policy = policy == "reuse" ? policy::reuse : policy == "new" ? policy::renew : policy::cold;
    const auto method = text_of("WIREBENCH_METHOD", "GET");
    if (method != "GET" && method != "POST")
        throw std::invalid_argument("WIREBENCH_METHOD: expected GET or POST, got '" + method + "'");
    out.settings.posts = method == "POST";
    out.expected = pattern(number_of("WIREBENCH_PAYLOAD_BYTES", "1024"));
    out.settings.message = out.expected;
    out.warmup = number_of("WIREBENCH_WARMUP", "0");
    out.operations = number_of("WIREBENCH_OPERATIONS", "1");
    out.samples_file = text_of("WIREBENCH_SAMPLES", "");
    return out;
}

}  // namespace wirebench
