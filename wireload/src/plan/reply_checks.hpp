// The checks that a reply has to pass, compiled. Shared by all threads and never changed.
//
// Everything that a check may keep of a reply is bounded: a regular expression looks at the first
// MiB of a body, JSON is only read in bodies up to a MiB, and the rest is checked as it passes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "measure/error_kind.hpp"
#include "plan/expectations.hpp"
#include "plan/json_path.hpp"
#include "plan/sha256.hpp"
#include "plan/text_template.hpp"
#include "wire/proto/http_parser.hpp"

namespace re2 {
class RE2;
}

namespace wireload {

class reply_checks {
public:
    static constexpr std::size_t most_kept = 1024 * 1024;

    // Which check failed: its kind, and which of several.
    struct failure {
        enum class kind : std::uint8_t {
            status,
            header,
            body,
            length,
            sha256,
            match,
            json
        } what = kind::status;
        std::size_t index = 0;
        error_kind as_error() const {
            return what == kind::status ? error_kind::bad_status : error_kind::bad_body;
        }
    };

    // What is known of a reply that is being received.
    struct progress {
        std::uint64_t body_bytes = 0;
        bool body_equal = true;                   // so far
        std::string wanted;                       // the body that is right, if that varies()
        std::optional<std::size_t> wrong_header;  // the first check of a header that failed
        std::string kept;                         // of the body, for checks that need it whole
        std::unique_ptr<sha256> digest;
    };

    // The string names the flag and says what is wrong. With `request` the body that is right may
    // hold values; they are those of the request that it answers.
    static std::variant<reply_checks, std::string> compile(const expectations& asked,
                                                           const text_template* request = nullptr);

    reply_checks();
    ~reply_checks();
    reply_checks(reply_checks&&) noexcept;
    reply_checks& operator=(reply_checks&&) noexcept;

    // What is right differs from request to request: begin() has to know which one is answered.
    bool varies() const { return varies_; }
    void begin(progress& p, template_values of_request) const { p.wanted = body_.text(of_request); }

    void head(progress& p, const wire::http::response_head& head) const {
        if (!headers_.empty()) check_headers(p, head);
    }
    void body(progress& p, std::string_view piece) const {
        if (looks_at_body_) check_piece(p, piece);
        p.body_bytes += piece.size();
    }
    // The reply is complete.
    std::optional<failure> finish(progress& p, int status) const {
        if (!asked_.status.contains(status)) return failure{failure::kind::status};
        if (!has_more_) return std::nullopt;
        return finish_more(p);
    }

    // A WebSocket message, whole: those checks that look at content.
    std::optional<failure> message(std::string_view text) const {
        return has_more_ ? check_message(text) : std::nullopt;
    }

    // For reports: what the reply to a request should have been, by all checks, or by the one that
    // failed.
    std::string expected(template_values of_request = {}) const;
    std::string expected(const failure& f, template_values of_request = {}) const;

private:
    struct header_check {
        std::string name;
        std::optional<std::string> value;  // any when absent
        bool begins = false;               // the value may go on
    };
    struct json_check {
        json_path path;
        std::shared_ptr<const nlohmann::json> value;  // any when null
    };

    // Each returns what is wrong, or nothing. `request`: see compile().
    std::string compile_body(const text_template& request);
    std::string compile_headers();
    std::string compile_digest();
    std::string compile_match();
    std::string compile_json();

    void check_headers(progress& p, const wire::http::response_head& head) const;
    void check_piece(progress& p, std::string_view piece) const;
    std::optional<failure> finish_more(progress& p) const;
    std::optional<failure> check_message(std::string_view text) const;
    std::optional<failure> check_text(std::string_view text, bool whole) const;

    // The body that is right.
    std::string_view wanted(const progress& p) const {
        return varies_ ? std::string_view(p.wanted) : std::string_view(*asked_.body);
    }

    expectations asked_;
    text_template body_;  // when it varies
    std::vector<header_check> headers_;
    std::optional<sha256::digest> digest_;
    std::vector<std::unique_ptr<const re2::RE2>> match_;
    std::vector<json_check> json_;
    bool varies_ = false;
    bool looks_at_body_ = false;
    bool keeps_body_ = false;
    bool has_more_ = false;  // than the status
};

}  // namespace wireload
