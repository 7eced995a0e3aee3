// A request's copies of what it was received as, and its route's parameters.
#include "received_request.hpp"

#include <utility>

#include "proto/percent_coding.hpp"
#include "proto/rebase.hpp"

namespace wire::http {

std::string_view request::param(std::string_view name) const noexcept {
    for (const auto& [key, value] : params_) {
        if (key == name) return value;
    }
    return {};
}

result<std::string> request::decoded_param(std::string_view name) const {
    return std::string(param(name));
}

const header_list& request::trailers() const noexcept {
    static const header_list none;
    return trailers_ != nullptr ? trailers_->fields() : none;
}

namespace detail {

void received_request::keep_trailer(std::string_view line) {
    if (trailers_ == nullptr) trailers_ = std::make_unique<trailer_list>();
    trailers_->add(line);
}

void received_request::keep_names() {
    std::string all;  // some may be in names_ already, where a router's handler is a router
    for (const auto& [name, value] : params_) all += name;
    names_ = std::move(all);
    std::size_t at = 0;
    for (auto& [name, value] : params_) {
        name = std::string_view(names_).substr(at, name.size());
        at += name.size();
    }
}

void received_request::keep(std::string_view raw) {
    raw_.append(raw);  // it is empty: cheaper than assign()
    // The parser has checked that it can be decoded.
    if (head_.path_is_escaped) wire::detail::append_percent_decoded(raw_, head_.path, '+');
    const rebase move(raw, raw_.data());
    move(head_.method_text);
    move(head_.target);
    move(head_.path);
    move(head_.query);
    move(head_.authority);
    move(head_.headers);
    if (head_.path_is_escaped) head_.path = std::string_view(raw_).substr(raw.size());
}

[[gnu::cold]] void received_request::keep(const wire::tls::connection_info& info) {
    tls_ = info;
    const std::size_t version = info.version.size();
    const std::size_t cipher = info.cipher.size();
    const std::size_t protocol = info.protocol.size();
    tls_text_.assign(info.version).append(info.cipher).append(info.protocol).append(info.peer);
    const std::string_view all = tls_text_;
    tls_->version = all.substr(0, version);
    tls_->cipher = all.substr(version, cipher);
    tls_->protocol = all.substr(version + cipher, protocol);
    tls_->peer = all.substr(version + cipher + protocol);
}

void received_request::clear() noexcept {
    tls_.reset();
    proxied_by_.reset();
    client_.reset();
    empty(raw_);
    empty(body_);
    params_.clear();
    trailers_ = nullptr;
}

}  // namespace detail

}  // namespace wire::http
