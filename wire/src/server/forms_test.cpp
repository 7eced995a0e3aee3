#include "wire/server/forms.hpp"

#include <gtest/gtest.h>

#include "raw_peer.hpp"
#include "served.hpp"
#include "wire/proto/cookies.hpp"
#include "wire/proto/multipart.hpp"

namespace wire::http::forms_test {

// Says what the request holds, or how the server refuses it.
void inspect(response res) {
    const request& req = res.request();
    std::string out;
    error why;
    limits l;
    l.max_parameters = 3;
    l.max_cookies = 2;
    l.max_part_bytes = 8;
    const auto show = [&](const auto& read) {
        if (read) {
            for (const auto& [name, value] : *read)
                out += std::string(name) + "=" + std::string(value) + ";";
        } else {
            why = read.error();
        }
    };
    if (req.path() == "/query") show(query(req, l));
    if (req.path() == "/form") show(form(req, l));
    if (req.path() == "/cookies") show(cookies(req, l));
    if (req.path() == "/multipart") {
        const auto parts = multipart_form(req, l);
        if (!parts) why = parts.error();
        else
            for (const auto& p : *parts) out += p.name + "=" + std::string(p.data) + ";";
    }
    if (!req.param("name").empty()) {
        const auto name = req.decoded_param("name");
        if (name) out = *name;
        else why = name.error();
    }
    if (why) {
        res.status(status_for(why.code)).send(std::string(to_string(why.code)));
    } else {
        res.send(out);
    }
}

class forms : public ::testing::Test {
protected:
    static router everything() {
        router r;
        r.otherwise(inspect).get("/param/{name}", inspect);
        return r;
    }
    std::string ask(const std::string& target, const std::string& fields = "",
                    const std::string& body = "") {
        p.send("POST " + target + " HTTP/1.1\r\nHost: a\r\n" + fields +
               "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
        return p.response();
    }
    testing::served server{everything()};
    testing::raw_peer p{server.port()};
};

TEST_F(forms, queries) {
    EXPECT_EQ(ask("/query"), "200 ");
    EXPECT_EQ(ask("/query?a=1&b=x%20y+z"), "200 a=1;b=x y z;");
    EXPECT_EQ(ask("/query?a=%zz"), "400 malformed percent-encoding");
    EXPECT_EQ(ask("/query?a&b&c&d"), "400 too many parameters");
    EXPECT_EQ(ask("/query?a"), "200 a=;");  // and the others are served
}
TEST_F(forms, urlencoded_bodies) {
    const std::string type = "Content-Type: application/X-www-form-urlencoded ; charset=utf-8\r\n";
    EXPECT_EQ(ask("/form", type, "a=1&a=2"), "200 a=1;a=2;");
    EXPECT_EQ(ask("/form", type, "a=%"), "400 malformed percent-encoding");
    EXPECT_EQ(ask("/form", "Content-Type: text/plain\r\n", "a=1"), "415 unsupported media type");
    EXPECT_EQ(ask("/form", "", "a=1"), "415 unsupported media type");
    EXPECT_EQ(ask("/form", type + type, "a=1"), "415 unsupported media type");
}
TEST_F(forms, multipart_bodies) {
    const std::string type = "Content-Type: multipart/form-data; boundary=b\r\n";
    const std::string head = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n";
    EXPECT_EQ(ask("/multipart", type, head + "12345678\r\n--b--"), "200 a=12345678;");
    EXPECT_EQ(ask("/multipart", type, head + "123456789\r\n--b--"), "413 part too large");
    EXPECT_EQ(ask("/multipart", type, head + "1"), "400 malformed multipart body");
    EXPECT_EQ(ask("/multipart", "", head), "415 unsupported media type");
    EXPECT_EQ(ask("/multipart", type + "Content-Type: text/plain\r\n", head + "1\r\n--b--"),
              "415 unsupported media type");
}
TEST_F(forms, cookies_of_all_fields) {
    EXPECT_EQ(ask("/cookies", "Cookie: a=1\r\ncookie: b=2\r\n"), "200 a=1;b=2;");
    EXPECT_EQ(ask("/cookies", "Cookie: a=1; b=2; c=3\r\n"), "400 too many cookies");
}
TEST_F(forms, decoded_path_parameters) {
    const auto get = [&](const std::string& path) {
        p.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
        return p.response();
    };
    EXPECT_EQ(get("/param/a%C3%A9b+c"),
              "200 a\xC3\xA9"
              "b+c");
    EXPECT_EQ(get("/param/a%252Fb"), "200 a%2Fb");  // once
    EXPECT_EQ(get("/param/a%2"), "(close) 400 malformed request target\n");
}
TEST(set_cookie, on_a_response) {
    testing::served s([](response res) {
        res.cookie({.name = "id",
                    .value = std::string(res.request().query()),
                    .path = "/",
                    .secure = true,
                    .http_only = true})
            .send("x");
    });
    testing::raw_peer p(s.port());
    p.send("GET /?abc HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(p.response(), "200 x");
    EXPECT_NE(p.head_text.find("Set-Cookie: id=abc; Path=/; Secure; HttpOnly\r\n"),
              std::string::npos);
    p.send("GET /?a;b HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(p.response(), "500 Internal Server Error\n");
    EXPECT_EQ(p.head_text.find("Cookie"), std::string::npos);
}

}  // namespace wire::http::forms_test
