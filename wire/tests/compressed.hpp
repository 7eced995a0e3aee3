// How tests ask for compressed responses and read the answers.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "proto/body_coding.hpp"
#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"
#include "wire/loop/blocking_pool.hpp"
#include "wire/proto/compression.hpp"

namespace wire::testing {

inline std::string unpacked(coding c, std::string_view bytes) {
    auto d = decompressor::create(c);
    if (!d) return "<no zlib>";
    buffer out;
    const auto s = d->add(bytes, 1 << 20, out);
    return s.ended && s.used == bytes.size() ? std::string(out.view()) : "<broken>";
}

// By a Content-Encoding, of which there may be none.
inline std::string decoded(std::string_view coding, std::string_view bytes) {
    auto d = http::body_decoder::of(coding, {});
    if (!d) return std::string(bytes);
    buffer out;
    if (d->add(bytes, 1 << 20, out) != errc::none || d->finish() != errc::none) return "<broken>";
    return std::string(out.view());
}

// The next chunk, without its framing; "" at the end.
inline std::string next_chunk(raw_peer& p) {
    std::string line;
    while (!line.ends_with("\r\n")) {
        const std::string c = p.exactly(1);
        if (c.empty()) return "";
        line += c;
    }
    std::string data = p.exactly(std::stoul(line, nullptr, 16));
    p.exactly(2);
    return data;
}

struct compressed : ::testing::Test {
    void SetUp() override {
        if (!compression_available()) GTEST_SKIP() << "built without zlib";
    }
    // The fields that are of interest, each with a "|" behind, and the decoded body, or "whole"
    // when it is that.
    std::string ask(const std::string& target, const std::string& accept = "gzip",
                    http::method m = http::method::get) {
        raw_peer p(server->port());
        p.send(std::string(to_string(m)) + " " + target +
               " HTTP/1.1\r\nHost: a\r\nAccept-Encoding: " + accept + "\r\n\r\n");
        std::string body = p.response(m);
        body.erase(0, 4);
        sent = body.size();
        head = p.head_text;
        std::string out;
        for (const std::string name : {"Content-Encoding", "Vary", "ETag", "Accept-Ranges"}) {
            const std::string value = field(name);
            if (!value.empty()) out += value + "|";
        }
        body = decoded(field("Content-Encoding"), body);
        return out + (body == whole ? "whole" : body);
    }
    // Of the last answer; "" when it is not there.
    std::string field(const std::string& name) const {
        const auto at = head.find("\r\n" + name + ": ");
        if (at == std::string::npos) return "";
        const auto value = at + name.size() + 4;
        return head.substr(value, head.find('\r', value) - value);
    }

    std::string whole;
    std::string head;
    std::size_t sent = 0;  // bytes of the last body, as it came
    blocking_pool pool{4};
    std::optional<served> server;
};

}  // namespace wire::testing
