// Requests cut everywhere, each refusal, and framing that could be smuggled.
#include <gtest/gtest.h>

#include "http_transcript.hpp"

namespace wire::http::request_parser_test {

using transcript_of = testing::http_transcript<request_parser, request_head>;

// What the parser says of `text`, having made sure that it says the same however the text is cut.
std::string parse(std::string_view text, const limits& l = {}) {
    std::string whole;
    for (const auto& cut : testing::all_cuts(text)) {
        request_parser parser(l);
        transcript_of transcript(parser);
        for (const auto piece : cut) {
            if (!transcript.broken()) transcript.feed(piece);
        }
        if (whole.empty()) whole = transcript.text();
        EXPECT_EQ(transcript.text(), whole)
            << "cut into " << cut.size() << " after " << cut[0].size();
        EXPECT_EQ(parser.failed(), transcript.broken());
    }
    return whole;
}

std::string fails(std::string_view text, const limits& l = {}) {
    const std::string said = parse(text, l);
    const auto at = said.rfind("error ");
    return at == std::string::npos ? "no error: " + said : said.substr(at + 6);
}

const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n";

TEST(request_parser, simple) {
    EXPECT_EQ(parse("GET /a?b=c HTTP/1.1\r\nHost: x:80\r\nAccept:  */* \t\r\nEmpty:\r\n\r\n"),
              "head GET /a?b=c 1.1 [Host=x:80] [Accept=*/*] [Empty=]; end");
}
TEST(request_parser, every_method) {
    for (const std::string m :
         {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"}) {
        limits l;
        request_parser q(l);
        request_head head;
        const std::string text = m + " / HTTP/1.1\r\nHost: a\r\n\r\n";
        EXPECT_EQ(q.parse(text, head).what, event::head);
        EXPECT_EQ(to_string(head.method), m);
        EXPECT_EQ(head.method_text, m);
    }
    EXPECT_EQ(parse("BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n"), "head BREW /pot 1.1 [Host=a]; end");
}
TEST(request_parser, long_values_pass_through_every_alignment) {
    for (std::size_t n = 0; n < 40; ++n) {
        const std::string v(n, 'v');
        const std::string text = get + "X: " + v + "\r\n\r\n";
        limits l;
        request_parser p(l);
        request_head head;
        testing::exact_copy exact(text);
        ASSERT_EQ(p.parse(exact, head).what, event::head) << n;
        EXPECT_EQ(head.headers[1].value, v);
    }
}
TEST(request_parser, body_by_length) {
    EXPECT_EQ(parse("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"),
              "head POST / 1.1 [Host=a] [Content-Length=5] length 5; body hello; end");
    EXPECT_EQ(parse("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"),
              "head POST / 1.1 [Host=a] [Content-Length=0] length 0; end");
}
TEST(request_parser, chunked_body) {
    EXPECT_EQ(
        parse("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
              "5\r\nhello\r\n006;x=\"y\"\r\n world\r\n1 \t;e\r\n!\r\n0\r\n\r\n"),
        "head POST / 1.1 [Host=a] [Transfer-Encoding=Chunked] chunked; body hello world!; end");
    EXPECT_EQ(parse("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: , chunked ,\r\n\r\n"
                    "0\r\nTrailer: x\r\nOther: y\r\n\r\n"),
              "head POST / 1.1 [Host=a] [Transfer-Encoding=, chunked ,] chunked; "
              "trailer [Trailer: x]; trailer [Other: y]; end");
}
TEST(request_parser, pipelined) {
    EXPECT_EQ(parse(get + "\r\n" + "POST /b HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\n\r\nhi" +
                    get + "\r\n"),
              "head GET / 1.1 [Host=a]; end; head POST /b 1.1 [Host=b] [Content-Length=2] length "
              "2; body hi; end; "
              "head GET / 1.1 [Host=a]; end");
}
TEST(request_parser, bytes_of_the_next_request_stay) {
    EXPECT_EQ(parse(get + "\r\nGET"), "head GET / 1.1 [Host=a]; end; left 3");
}
TEST(request_parser, one_empty_line_before_a_request_is_ignored) {
    EXPECT_EQ(parse("\r\n" + get + "\r\n\r\n" + get + "\r\n"),
              "head GET / 1.1 [Host=a]; end; head GET / 1.1 [Host=a]; end");
    EXPECT_EQ(fails("\r\n\r\n" + get + "\r\n"), "malformed request line");
    EXPECT_EQ(fails("\r" + get + "\r\n"), "a line does not end in CRLF");
}
TEST(request_parser, persistence) {
    EXPECT_EQ(parse(get + "Connection: close\r\n\r\n"),
              "head GET / 1.1 [Host=a] [Connection=close] close; end");
    EXPECT_EQ(parse(get + "Connection: x, Close\r\n\r\n"),
              "head GET / 1.1 [Host=a] [Connection=x, Close] close; end");
    EXPECT_EQ(parse("GET / HTTP/1.0\r\n\r\n"), "head GET / 1.0 close; end");
    EXPECT_EQ(parse("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"),
              "head GET / 1.0 [Connection=Keep-Alive]; end");
    EXPECT_EQ(parse("GET / HTTP/1.9\r\nHost:\r\n\r\n"), "head GET / 1.1 [Host=]; end");
}
TEST(request_parser, expectation_and_upgrade) {
    EXPECT_EQ(parse(get + "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\n"),
              "head GET / 1.1 [Host=a] [Expect=100-Continue] [Content-Length=1] length 1 "
              "expects-continue");
    // It is a list (RFC 9110 section 10.1.1).
    EXPECT_EQ(parse(get + "Expect: , 100-continue,100-continue\r\nContent-Length: 1\r\n\r\n"),
              "head GET / 1.1 [Host=a] [Expect=, 100-continue,100-continue] [Content-Length=1] "
              "length 1 expects-continue");
    EXPECT_EQ(parse(get + "Expect: 100-continue\r\nExpect:\r\nContent-Length: 1\r\n\r\n"),
              "head GET / 1.1 [Host=a] [Expect=100-continue] [Expect=] [Content-Length=1] "
              "length 1 expects-continue");
    EXPECT_EQ(fails(get + "Expect: a-miracle\r\n\r\n"), "unknown expectation");
    EXPECT_EQ(parse("GET / HTTP/1.0\r\nExpect: a-miracle\r\n\r\n"),
              "head GET / 1.0 [Expect=a-miracle] close; end");
    EXPECT_EQ(parse(get + "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n"),
              "head GET / 1.1 [Host=a] [Connection=keep-alive, Upgrade] [Upgrade=websocket] "
              "upgrade; end");
    EXPECT_EQ(parse(get + "Upgrade: websocket\r\n\r\n"),
              "head GET / 1.1 [Host=a] [Upgrade=websocket]; end");
}
TEST(request_parser, targets) {
    const auto split = [](std::string_view line) {
        limits l;
        request_parser p(l);
        request_head head;
        const std::string text = std::string(line) + " HTTP/1.1\r\nHost: h\r\n\r\n";
        if (p.parse(text, head).what != event::head) return std::string("refused");
        return std::string(head.path) + "|" + std::string(head.query) + "|" +
               std::string(head.authority);
    };
    EXPECT_EQ(split("GET /a/b?c=d?e"), "/a/b|c=d?e|h");
    EXPECT_EQ(split("GET http://other:81/a?b"), "/a|b|other:81");
    EXPECT_EQ(split("GET HTTPS://[::1]:81"), "/||[::1]:81");
    EXPECT_EQ(split("GET http://x?q"), "/|q|x");
    EXPECT_EQ(split("OPTIONS *"), "*||h");
    EXPECT_EQ(split("CONNECT x.example:443"), "||x.example:443");
    for (const auto line : {"GET *",
                            "GET a",
                            "GET ftp://x/",
                            "GET http://",
                            "GET http:///a",
                            "GET http://u@h/",
                            "GET /#f",
                            "CONNECT /a",
                            "CONNECT x",
                            "CONNECT :1",
                            "CONNECT x:",
                            "CONNECT x:99999",
                            "CONNECT [::1]",
                            "CONNECT [::1]:",
                            "CONNECT x:0",
                            "CONNECT x:00",
                            "CONNECT http://x:1/",
                            "CONNECT *",
                            "GET http://:80/",
                            "GET http://:/",
                            "GET https://:443",
                            "GET http://?q"}) {
        EXPECT_EQ(split(line), "refused") << line;
    }
    EXPECT_EQ(split("CONNECT [::1]:443"), "||[::1]:443");
}
TEST(request_parser, paths_that_name_one_resource_only) {
    const auto path_of = [](const std::string& target, bool& escaped) {
        limits l;
        request_parser p(l);
        request_head head;
        head.path_is_escaped = !escaped;
        const testing::exact_copy text("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n");
        if (p.parse(text, head).what != event::head) return std::string("refused");
        escaped = head.path_is_escaped;
        return std::string(head.path);
    };
    bool escaped = false;
    for (const std::string before : {"", "http://x"}) {
        for (const std::string plain :
             {"/", "//", "/a.b", "/.a", "/..a", "/a..", "/...", "/a./b", "//a//", "/a;.."}) {
            EXPECT_EQ(path_of(before + plain, escaped), plain);
            EXPECT_FALSE(escaped) << plain;
            EXPECT_EQ(path_of(before + plain + "?%2F/../%zz%", escaped), plain);
            EXPECT_FALSE(escaped) << plain;
        }
        for (const std::string encoded :
             {"/%61", "/%C3%a9", "/a%20b", "/%2e%2e%2e", "/%2ea", "/%252F", "/%3F", "/%5C"}) {
            EXPECT_EQ(path_of(before + encoded, escaped), encoded);
            EXPECT_TRUE(escaped) << encoded;
            EXPECT_EQ(path_of(before + encoded + "?..", escaped), encoded);
        }
        for (const std::string bad :
             {"/%",      "/%4",  "/%zz",      "/%4g",  "/a%",     "/%2F",      "/a%2fb", "/%00",
              "/a%00b",  "/.",   "/..",       "/./",   "/../",    "/a/.",      "/a/..",  "/a/./b",
              "/a/../b", "/%2e", "/%2E%2e/a", "/.%2e", "/%2e./a", "/a/%2e%2e", "//..",   "/a%?"}) {
            EXPECT_EQ(path_of(before + bad, escaped), "refused") << before + bad;
            EXPECT_EQ(path_of(before + bad + "?a", escaped), "refused") << before + bad;
        }
    }
    EXPECT_EQ(fails("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n"), "malformed request target");
}
TEST(request_parser, hosts_refused) {
    for (const std::string host : {":80", ":", "a:b", "a b", "[::1"})
        EXPECT_EQ(fails("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"),
                  "missing, repeated or malformed Host")
            << host;
    EXPECT_EQ(parse("GET / HTTP/1.1\r\nHost:\r\n\r\n"), "head GET / 1.1 [Host=]; end");
}
TEST(request_parser, request_lines_refused) {
    EXPECT_EQ(fails("GET  / HTTP/1.1\r\n"), "malformed request line");
    EXPECT_EQ(fails("GET /  HTTP/1.1\r\n"), "malformed request line");
    EXPECT_EQ(fails("GET / HTTP/1.1 \r\n"), "malformed request line");
    EXPECT_EQ(fails(" GET / HTTP/1.1\r\n"), "malformed request line");
    EXPECT_EQ(fails("GET /\r\n"), "malformed request line");
    EXPECT_EQ(fails("GET\r\n"), "malformed request line");
    EXPECT_EQ(fails("G(T / HTTP/1.1\r\n"), "malformed request line");
    EXPECT_EQ(fails("GET / http/1.1\r\n"), "malformed request line");
    EXPECT_EQ(fails("GET / HTTP/1.\r\n"), "malformed request line");
    EXPECT_EQ(fails("GET / HTTP/1.10\r\n"), "malformed request line");
    for (const std::string version : {"01.1", "11.1", "1,1", "1", "2", "2.", "2.00", "02.0", "2.0 ",
                                      "2.x", "20.0", "2,0", "2.0\t"})
        EXPECT_EQ(fails("GET / HTTP/" + version + "\r\n"), "malformed request line") << version;
    EXPECT_EQ(fails("GET / HTTP/2.0\r\n"), "unsupported HTTP version");
    EXPECT_EQ(fails("GET / HTTP/0.9\r\n"), "unsupported HTTP version");
    EXPECT_EQ(fails("GET / HTTP/1.1\n"), "a line does not end in CRLF");
    EXPECT_EQ(fails("GET / HTTP/1.1\rX"), "a line does not end in CRLF");
    EXPECT_EQ(fails("GET /\n"), "a line does not end in CRLF");
    EXPECT_EQ(fails("GET /\tx HTTP/1.1\r\n"), "malformed request target");
    EXPECT_EQ(fails(std::string_view("GET /\0x HTTP/1.1\r\n", 18)), "malformed request target");
    EXPECT_EQ(fails("GET /\xC3\xA9 HTTP/1.1\r\n"), "malformed request target");
    EXPECT_EQ(fails("\x16\x03\x01\x02"), "malformed request line");  // a TLS hello
    EXPECT_EQ(fails("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "unsupported HTTP version");
}
TEST(request_parser, fields_refused) {
    EXPECT_EQ(fails(get + "A : b\r\n\r\n"), "malformed field name");
    EXPECT_EQ(fails(get + "A\t: b\r\n\r\n"), "malformed field name");
    EXPECT_EQ(fails(get + ": b\r\n\r\n"), "malformed field name");
    EXPECT_EQ(fails(get + "A b: c\r\n\r\n"), "malformed field name");
    EXPECT_EQ(fails(get + "Ab\r\n\r\n"), "malformed field name");
    EXPECT_EQ(fails(get + "\xC3\xA9: c\r\n\r\n"), "malformed field name");
    EXPECT_EQ(fails(get + "A: b\r\n c\r\n\r\n"), "folded field line");
    EXPECT_EQ(fails("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), "folded field line");
    EXPECT_EQ(fails(get + "A: b\n\r\n"), "a line does not end in CRLF");
    EXPECT_EQ(fails(get + "\n"), "a line does not end in CRLF");
    EXPECT_EQ(fails(get + "A: b\rc\r\n\r\n"), "a line does not end in CRLF");
    EXPECT_EQ(fails(get + "\rX"), "a line does not end in CRLF");
    EXPECT_EQ(fails(get + std::string("A: b\0c\r\n\r\n", 10)),
              "control character in a field value");
    EXPECT_EQ(fails(get + "A: b\x7F\r\n\r\n"), "control character in a field value");
    EXPECT_EQ(
        fails(get + "A: " + std::string(20, 'x') + "\x01" + std::string(20, 'y') + "\r\n\r\n"),
        "control character in a field value");
}
TEST(request_parser, opaque_bytes_in_values_pass) {
    EXPECT_EQ(parse(get + "A: \xC3\xA9\x80\tx\r\n\r\n"),
              "head GET / 1.1 [Host=a] [A=\xC3\xA9\x80\tx]; end");
}
TEST(request_parser, host) {
    const auto with = [](const std::string& fields) {
        return fails("GET / HTTP/1.1\r\n" + fields + "\r\n");
    };
    const std::string bad = "missing, repeated or malformed Host";
    EXPECT_EQ(with(""), bad);
    EXPECT_EQ(with("Host: a\r\nHost: a\r\n"), bad);
    for (const std::string h : {"a b", "a/b", "a@b", "a:x", "a:1:2", "a:65536", "[::1", "[]",
                                "[x::]", "[::1]x", "%4", "a,\"b\"", "h\xC3\xA9", "[dead]",
                                "[1.2.3.4]", "[:::::]", "[1:2]:80", "[::1%25eth0]", "[v1.x]"}) {
        EXPECT_EQ(with("Host: " + h + "\r\n"), bad) << h;
    }
    for (const std::string h : {"", "a", "a:", "a:65535", "[::1]:80", "a-b_c.example",
                                "127.0.0.1:1", "%41b", "[fe80::1]", "[::ffff:1.2.3.4]:8080"}) {
        EXPECT_EQ(parse("GET / HTTP/1.1\r\nHost: " + h + "\r\n\r\n"),
                  "head GET / 1.1 [Host=" + h + "]; end");
    }
    EXPECT_EQ(fails("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"), bad);
    EXPECT_EQ(fails("GET http://good/ HTTP/1.1\r\nHost: b@d\r\n\r\n"), bad);
}
TEST(request_parser, ambiguous_length_refused) {
    const auto with = [](const std::string& fields) { return fails(get + fields + "\r\n"); };
    EXPECT_EQ(with("Content-Length: 1\r\nContent-Length: 1\r\n"), "more than one message length");
    EXPECT_EQ(with("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
              "more than one message length");
    EXPECT_EQ(with("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"),
              "more than one message length");
    for (const std::string n : {"", "+1", "-1", "1, 1", "1 1", "0x1", "1.0", "a",
                                "18446744073709551616", "99999999999999999999"}) {
        EXPECT_EQ(with("Content-Length: " + n + "\r\n"), "malformed Content-Length") << n;
    }
    for (const std::string t :
         {"", ",", "gzip", "chunked, gzip", "chunked, chunked", "identity", "chunked;x=1",
          "xchunked", "\"chunked\"", "chunked\r\nTransfer-Encoding: gzip",
          "chunked\r\nTransfer-Encoding: chunked"}) {
        EXPECT_EQ(with("Transfer-Encoding: " + t + "\r\n"), "malformed Transfer-Encoding") << t;
    }
    EXPECT_EQ(with("Transfer-Encoding: gzip, chunked\r\n"), "unknown transfer coding");
    EXPECT_EQ(with("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"),
              "unknown transfer coding");
    EXPECT_EQ(fails("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
              "malformed Transfer-Encoding");
}
// RFC 9110 section 8.6 and RFC 9112 section 7.1: any number of digits.
TEST(request_parser, zeros_before_a_length) {
    EXPECT_EQ(parse(get + "Content-Length: " + std::string(40, '0') + "2\r\n\r\nhi"),
              "head GET / 1.1 [Host=a] [Content-Length=" + std::string(40, '0') +
                  "2] length 2; body hi; end");
    const std::string chunked = get + "Transfer-Encoding: chunked\r\n\r\n";
    const std::string all = "head GET / 1.1 [Host=a] [Transfer-Encoding=chunked] chunked; ";
    for (const std::size_t n : {15U, 16U, 63U}) {
        const std::string zeros(n, '0');
        EXPECT_EQ(parse(chunked + zeros + "2\r\nhi\r\n" + zeros + "0\r\n\r\n"),
                  all + "body hi; end");
    }
    EXPECT_EQ(fails(chunked + std::string(65, '0')), "malformed chunk");
}
TEST(request_parser, chunk_extensions) {
    for (const std::string e : {";a", ";a=b", ";a;b", ";a=b;c=d", "  ;a", " \t; \ta \t= \tb",
                                ";a ;b", ";a=b ; c", ";a=\"\"", ";a=\"b c;\\\"=\\\\\t\xC3\xA9\"",
                                ";a=\"b\" ;c=\"d\";e", ";!#$%&'*+-.^_`|~=1"}) {
        EXPECT_EQ(parse("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2" + e +
                        "\r\nhi\r\n0" + e + "\r\n\r\n"),
                  "head POST / 1.1 [Host=a] [Transfer-Encoding=chunked] chunked; body hi; end")
            << e;
    }
}
TEST(request_parser, bad_chunks_refused) {
    const auto with = [](const std::string& body) {
        return fails("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body);
    };
    for (const std::string c : {"\r\n", "g\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 \r\n",
                                "1\n", "1\rx", "1;\n", "1;a\x01\r\n", "1 x\r\n", "1\r\nab\r\n",
                                "1\r\na\n", "1\r\na\rx", "1000000000000000\r\n", ";\r\n"}) {
        EXPECT_EQ(with(c), "malformed chunk") << c;
    }
    // RFC 9112 section 7.1.1.
    for (const std::string c :
         {"1;\r\n",         "1; \r\n",         "1;;\r\n",           "1;a;\r\n",
          "1;=b\r\n",       "1;a=\r\n",        "1;a= \r\n",         "1;a=;b\r\n",
          "1;a \r\n",       "1;a=b \r\n",      "1;a b\r\n",         "1;a=b c\r\n",
          "1;a==b\r\n",     "1;a=b=c\r\n",     "1;a(b\r\n",         "1;a=(\r\n",
          "1;\"a\"\r\n",    "1;a=b\"c\"\r\n",  "1;a=\"b\r\n",       "1;a=\"b\"c\r\n",
          "1;a=\"b\" \r\n", "1;a=\"b\\\r\n",   "1;a=\"b\\\"\r\n",   "1;a=\"b\x7F\"\r\n",
          "1;a=\"\n",       "1;a\n",           "1;a=b\n",           "1;a=\"b\"\n",
          "1;a\rx",         "1;a\xC3\xA9\r\n", "1;a=\"b\"\"c\"\r\n"}) {
        EXPECT_EQ(with(c), "malformed chunk") << c;
    }
    EXPECT_EQ(with(std::string("1;a=\"\0\"\r\n", 9)), "malformed chunk");
    EXPECT_EQ(with("0\r\nA: b\n"), "a line does not end in CRLF");
    EXPECT_EQ(with("0\r\nA : b\r\n\r\n"), "malformed field name");
    EXPECT_EQ(with("0\r\n x\r\n\r\n"), "folded field line");
}
TEST(request_parser, limits_are_exact) {
    limits l;
    l.max_uri_bytes = 10;
    EXPECT_EQ(parse("GET /234567890 HTTP/1.1\r\nHost:\r\n\r\n", l).substr(0, 4), "head");
    EXPECT_EQ(fails("GET /2345678901 HTTP/1.1\r\nHost:\r\n\r\n", l), "request target too long");

    l = {};
    const std::string head = get + "\r\n";
    l.max_header_bytes = head.size();
    EXPECT_EQ(parse(head, l), "head GET / 1.1 [Host=a]; end");
    l.max_header_bytes = head.size() - 1;
    EXPECT_EQ(fails(head, l), "header too large");

    l = {};
    l.max_headers = 2;
    EXPECT_EQ(parse(get + "A: b\r\n\r\n", l), "head GET / 1.1 [Host=a] [A=b]; end");
    EXPECT_EQ(fails(get + "A: b\r\nC: d\r\n\r\n", l), "too many header fields");

    l = {};
    l.max_body_bytes = 4;
    EXPECT_NE(parse(get + "Content-Length: 4\r\n\r\n", l).find("length 4"), std::string::npos);
    EXPECT_EQ(fails(get + "Content-Length: 5\r\n\r\n", l), "body too large");
    const std::string chunked = get + "Transfer-Encoding: chunked\r\n\r\n";
    EXPECT_NE(parse(chunked + "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n", l).find("body abcd; end"),
              std::string::npos);
    EXPECT_EQ(fails(chunked + "2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n", l), "body too large");
    EXPECT_EQ(fails(chunked + "fffffffffffffff\r\n", l), "body too large");

    l = {};
    l.max_chunk_extension_bytes = 4;
    EXPECT_NE(parse(chunked + "1;a=b\r\nx\r\n1;c\r\ny\r\n0\r\n\r\n", l).find("body xy; end"),
              std::string::npos);
    EXPECT_EQ(fails(chunked + "1;a=b\r\nx\r\n1;cd\r\n", l), "chunk extensions too large");
    EXPECT_EQ(fails(chunked + "1     ;\r\n", l), "chunk extensions too large");

    l = {};
    l.max_trailer_bytes = 8;
    EXPECT_NE(parse(chunked + "0\r\nA: b\r\n\r\n", l).find("; end"), std::string::npos);
    EXPECT_EQ(fails(chunked + "0\r\nAb: b\r\n\r\n", l), "header too large");
    EXPECT_EQ(fails(chunked + "0\r\nA: 3456789\r\n\r\n", l), "header too large");
}
TEST(request_parser, an_error_is_final) {
    limits l;
    request_parser p(l);
    request_head head;
    EXPECT_EQ(p.parse("GET /\n", head).error, errc::bad_line_end);
    EXPECT_EQ(p.parse(get + "\r\n", head).error, errc::bad_line_end);
    p.reset();
    EXPECT_EQ(p.parse(get + "\r\n", head).what, event::head);
}
TEST(request_parser, knows_when_nothing_is_pending) {
    limits l;
    request_parser p(l);
    request_head head;
    EXPECT_TRUE(p.between_messages());
    p.parse("G", head);
    EXPECT_FALSE(p.between_messages());
    p.reset();
    const std::string text = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n";
    EXPECT_EQ(p.parse(text, head).consumed, text.size());
    EXPECT_FALSE(p.between_messages());
    EXPECT_EQ(p.parse("x", head).what, event::body);
    EXPECT_EQ(p.parse("", head).what, event::end);
    EXPECT_TRUE(p.between_messages());
}
TEST(request_parser, a_body_may_be_bounded_by_its_head) {
    limits l;
    l.max_body_bytes = 4;
    const auto with = [&l](std::string_view text, std::uint64_t most) {
        request_parser p(l);
        request_head head;
        text.remove_prefix(p.parse(text, head).consumed);
        p.limit_body(most);
        std::string body;
        for (;;) {
            const step s = p.parse(text, head);
            if (s.what == event::error) return "error " + std::string(to_string(s.error));
            if (s.what == event::end) return body;
            body += s.data;
            text.remove_prefix(s.consumed);
        }
    };
    const std::string length = get + "Content-Length: 6\r\n\r\nabcdef";
    const std::string chunked =
        get + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n";
    for (const auto& text : {length, chunked}) {
        EXPECT_EQ(with(text, 6), "abcdef");
        EXPECT_EQ(with(text, 5), "error body too large");
        EXPECT_EQ(with(text, 2), "error body too large");
    }
    EXPECT_EQ(with(get + "\r\n", 0), "");
}
TEST(request_parser, is_small) { EXPECT_LE(sizeof(request_parser), 48U); }

TEST(status_for, errors) {
    EXPECT_EQ(status_for(errc::uri_too_long), 414);
    EXPECT_EQ(status_for(errc::header_too_large), 431);
    EXPECT_EQ(status_for(errc::body_too_large), 413);
    EXPECT_EQ(status_for(errc::bad_version), 505);
    EXPECT_EQ(status_for(errc::unknown_transfer_encoding), 501);
    EXPECT_EQ(status_for(errc::bad_chunk), 400);
}

}  // namespace wire::http::request_parser_test
