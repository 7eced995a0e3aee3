// An HTTP client of libcurl's multi interface: one easy handle, added to one multi handle for each
// transfer, as in libcurl's example multi-single.c.
#include "client.hpp"

#include <curl/curl.h>

#include <stdexcept>
#include <string>

namespace {

void check(CURLcode code) {
    if (code != CURLE_OK) throw std::runtime_error(curl_easy_strerror(code));
}

void check(CURLMcode code) {
    if (code != CURLM_OK) throw std::runtime_error(curl_multi_strerror(code));
}

size_t append(char* data, size_t, size_t size, void* body) {
    static_cast<std::string*>(body)->append(data, size);
    return size;
}

class curl_multi_client : public wirebench::client {
public:
    explicit curl_multi_client(const wirebench::settings& settings)
        : multi_(curl_multi_init()), easy_(curl_easy_init()), sent_(settings.message) {
        if (multi_ == nullptr || easy_ == nullptr)
            throw std::runtime_error("curl_multi_init or curl_easy_init failed");
        curl_easy_setopt(easy_, CURLOPT_URL, settings.url.c_str());
        curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, append);
        curl_easy_setopt(easy_, CURLOPT_WRITEDATA, &body_);
        curl_easy_setopt(easy_, CURLOPT_PROXY, "");  // whatever the environment says of proxies
        curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy_, CURLOPT_TIMEOUT, 10L);
        curl_easy_setopt(easy_, CURLOPT_FORBID_REUSE, settings.new_connections ? 1L : 0L);
        if (!settings.ca_file.empty())
            curl_easy_setopt(easy_, CURLOPT_CAINFO, settings.ca_file.c_str());
        if (!settings.posts) return;
        const auto type = std::string("Content-Type: ") + wirebench::octets;
        headers_ = curl_slist_append(nullptr, type.c_str());
        curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
        curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, sent_.data());
        curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(sent_.size()));
    }
    ~curl_multi_client() override {
        curl_easy_cleanup(easy_);
        curl_multi_cleanup(multi_);
        curl_slist_free_all(headers_);
    }

    void open() override {}  // libcurl connects with the first request

    std::string_view operation() override {
        body_.clear();
        check(curl_multi_add_handle(multi_, easy_));
        const auto driven = drive();
        const auto result = transfer_result();
        long opened = 0;
        curl_easy_getinfo(easy_, CURLINFO_NUM_CONNECTS, &opened);
        connections_ += static_cast<std::uint64_t>(opened);
        check(curl_multi_remove_handle(multi_, easy_));
        check(driven);
        check(result);
        long status = 0;
        check(curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status));
        if (status != 200)
            throw std::runtime_error("expected status 200, got " + std::to_string(status));
        return body_;
    }

    void close() override {}  // as the handle has been told
    std::uint64_t connections() const override { return connections_; }

private:
    CURLMcode drive() {
        int running = 0;
        auto code = curl_multi_perform(multi_, &running);
        while (code == CURLM_OK && running != 0) {
            code = curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
            if (code == CURLM_OK) code = curl_multi_perform(multi_, &running);
        }
        return code;
    }

    CURLcode transfer_result() {
        int left = 0;
        const auto* message = curl_multi_info_read(multi_, &left);
        if (message == nullptr || message->msg != CURLMSG_DONE) return CURLE_GOT_NOTHING;
        return message->data.result;
    }

    CURLM* multi_;
    CURL* easy_;
    curl_slist* headers_ = nullptr;
    std::string sent_;
    std::string body_;
    std::uint64_t connections_ = 0;
};

}  // namespace

std::unique_ptr<wirebench::client> wirebench::make_client(const settings& settings) {
    if (settings.url.rfind("http", 0) != 0)
        throw std::invalid_argument("WIREBENCH_URL: expected http://..., got " + settings.url);
    static const auto initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
    check(initialised);
    return std::make_unique<curl_multi_client>(settings);
}
