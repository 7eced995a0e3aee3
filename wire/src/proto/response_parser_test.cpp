// Responses cut everywhere, bodies of every framing, and connections that end early.
#include <gtest/gtest.h>

#include "http_transcript.hpp"

namespace wire::http::response_parser_test {

using transcript_of = testing::http_transcript<response_parser, response_head>;

std::string parse(std::string_view text, method request = method::get, bool close = false,
                  const limits& l = {}, bool in_place = false) {
    std::string whole;
    for (const auto& cut : testing::all_cuts(text)) {
        response_parser parser(l);
        parser.expect(request);
        transcript_of transcript(parser, in_place);
        for (const auto piece : cut) {
            if (!transcript.broken()) transcript.feed(piece);
        }
        std::string said = transcript.text();
        if (close && !transcript.broken()) {
            const step s = parser.finish();
            said += s.what == event::end         ? "; closed end"
                    : s.what == event::need_more ? "; closed"
                                                 : "; closed early";
        }
        if (parser.upgraded()) said += "; upgraded";
        if (whole.empty()) whole = said;
        EXPECT_EQ(said, whole) << "cut into " << cut.size() << " after " << cut[0].size();
    }
    return whole;
}

TEST(response_parser, by_length) {
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello"),
              "head 200 'OK' 1.1 [Content-Length=5] [X=y] length 5; body hello; end");
    EXPECT_EQ(parse("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
              "head 404 'Not Found' 1.1 [Content-Length=0] length 0; end");
}
TEST(response_parser, reason_may_be_empty_or_missing) {
    EXPECT_EQ(parse("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"),
              "head 200 '' 1.1 [Content-Length=0] length 0; end");
    EXPECT_EQ(parse("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"),
              "head 200 '' 1.1 [Content-Length=0] length 0; end");
}
TEST(response_parser, chunked) {
    EXPECT_EQ(
        parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: "
              "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nT: v\r\n\r\n"),
        "head 200 'OK' 1.1 [Transfer-Encoding=chunked] chunked; body abcde; trailer [T: v]; end");
}
TEST(response_parser, chunk_extensions_are_held_to_their_grammar) {
    const auto with = [](const std::string& extension) {
        const std::string said = parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2" +
                                       extension + "\r\nhi\r\n0\r\n\r\n");
        return said.substr(said.find(" chunked; ") + 10);
    };
    for (const std::string good : {";a", " ;a = \"b;\" ;c"}) EXPECT_EQ(with(good), "body hi; end");
    for (const std::string bad : {";", ";a=", ";a b", ";a=\"b", " "})
        EXPECT_EQ(with(bad), "error malformed chunk") << bad;
}
TEST(response_parser, until_close) {
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\n\r\nabc", method::get, true),
              "head 200 'OK' 1.1 until-close close; body abc; closed end");
    EXPECT_EQ(parse("HTTP/1.0 200 OK\r\n\r\n", method::get, true),
              "head 200 'OK' 1.0 until-close close; closed end");
}
TEST(response_parser, closed_early) {
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", method::get, true),
              "head 200 'OK' 1.1 [Content-Length=5] length 5; body abc; closed early");
    EXPECT_EQ(
        parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", method::get, true),
        "head 200 'OK' 1.1 [Transfer-Encoding=chunked] chunked; closed early");
    EXPECT_EQ(parse("HTTP/1.1 2", method::get, true), "; left 10; closed early");
    EXPECT_EQ(parse("HTTP/1.1 100 Continue\r\n\r\n", method::get, true),
              "interim 100 'Continue' 1.1; closed early");
}
TEST(response_parser, closed_between_messages) {
    EXPECT_EQ(parse("HTTP/1.1 204 No Content\r\n\r\n", method::get, true),
              "head 204 'No Content' 1.1; end; closed");
}
TEST(response_parser, responses_without_body) {
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 "
                    "OK\r\nContent-Length: 1\r\n\r\nx",
                    method::head),
              "head 200 'OK' 1.1 [Content-Length=5]; end; head 200 'OK' 1.1 [Content-Length=1] "
              "length 1; body x; end");
    EXPECT_EQ(parse("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
              "head 304 'Not Modified' 1.1 [Content-Length=5]; end");
    EXPECT_EQ(parse("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"),
              "head 204 'No Content' 1.1 [Transfer-Encoding=chunked]; end");
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", method::head),
              "head 200 'OK' 1.1 [Transfer-Encoding=chunked]; end");
}
// RFC 9112 section 6.3: they end with the head whatever the fields say.
TEST(response_parser, faulty_lengths_where_no_body_is_end_the_connection) {
    for (const std::string fields :
         {"[Content-Length=5] [Transfer-Encoding=chunked]", "[Transfer-Encoding=gzip, chunked]",
          "[Transfer-Encoding=identity]", "[Content-Length=-1]",
          "[Content-Length=1] [Content-Length=2]"}) {
        std::string head;
        for (const char c : fields + " ")
            head += c == '[' ? "" : c == '=' ? ": " : std::string(1, c);
        for (std::size_t at; (at = head.find("] ")) != std::string::npos;)
            head.replace(at, 2, "\r\n");
        EXPECT_EQ(parse("HTTP/1.1 200 OK\r\n" + head + "\r\n", method::head),
                  "head 200 'OK' 1.1 " + fields + " close; end");
        EXPECT_EQ(parse("HTTP/1.1 304 Not Modified\r\n" + head + "\r\n"),
                  "head 304 'Not Modified' 1.1 " + fields + " close; end");
    }
    EXPECT_EQ(parse("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", method::head),
              "head 200 'OK' 1.0 [Transfer-Encoding=chunked] close; end");
}
TEST(response_parser, interim_responses) {
    EXPECT_EQ(parse("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: "
                    "x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
              "interim 100 'Continue' 1.1; interim 103 'Early Hints' 1.1 [Link=x]; "
              "head 200 'OK' 1.1 [Content-Length=1] length 1; body x; end");
    limits l;
    l.max_interim_responses = 2;
    const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
    EXPECT_EQ(parse(interim + interim + interim, method::get, false, l),
              "interim 100 'Continue' 1.1; interim 100 'Continue' 1.1; error header too large");
}
TEST(response_parser, interim_keeps_the_request_method) {
    EXPECT_EQ(parse("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                    method::head),
              "interim 100 'Continue' 1.1; head 200 'OK' 1.1 [Content-Length=5]; end");
}
TEST(response_parser, upgrade_ends_http) {
    EXPECT_EQ(parse("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x01x"),
              "head 101 'Switching Protocols' 1.1 [Upgrade=websocket]; end; left 3; upgraded");
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", method::connect),
              "head 200 'OK' 1.1 [Content-Length=9]; end; left 3; upgraded");
    EXPECT_EQ(parse("HTTP/1.1 407 No\r\nContent-Length: 1\r\n\r\na", method::connect),
              "head 407 'No' 1.1 [Content-Length=1] length 1; body a; end");
}
TEST(response_parser, persistence) {
    EXPECT_EQ(parse("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
              "head 200 'OK' 1.0 [Content-Length=0] length 0 close; end");
    EXPECT_EQ(parse("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"),
              "head 200 'OK' 1.0 [Content-Length=0] [Connection=keep-alive] length 0; end");
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
              "head 200 'OK' 1.1 [Content-Length=0] [Connection=close] length 0 close; end");
}
TEST(response_parser, status_lines_refused) {
    EXPECT_EQ(parse("HTTP/1.1 20 OK\r\n"), "error malformed status line");
    EXPECT_EQ(parse("HTTP/1.1 2000 OK\r\n"), "error malformed status line");
    EXPECT_EQ(parse("HTTP/1.1 099 OK\r\n"), "error malformed status line");
    EXPECT_EQ(parse("HTTP/1.1  200 OK\r\n"), "error malformed status line");
    EXPECT_EQ(parse("HTTP/1.1 200 O\x01K\r\n"), "error malformed status line");
    EXPECT_EQ(parse("HTTP/1.1 200 OK\n"), "error a line does not end in CRLF");
    EXPECT_EQ(parse("HTTP/1.1 200 OK\rx"), "error a line does not end in CRLF");
    EXPECT_EQ(parse("HTTP/2.0 200 OK\r\n"), "error unsupported HTTP version");
    EXPECT_EQ(parse("HTTP/2 200 OK\r\n"), "error malformed status line");
    EXPECT_EQ(parse("HTTP/01.1 200 OK\r\n"), "error malformed status line");
    EXPECT_EQ(parse("ICY 200 OK\r\n"), "error malformed status line");
    EXPECT_EQ(parse("\r\nHTTP/1.1 200 OK\r\n"), "error malformed status line");
}
TEST(response_parser, ambiguous_length_refused) {
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
              "error more than one message length");
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
              "error more than one message length");
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"),
              "error malformed Content-Length");
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"),
              "error malformed Transfer-Encoding");
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"), "error folded field line");
}
TEST(response_parser, a_repeated_length_is_one) {
    const auto with = [](const std::string& fields) {
        return parse("HTTP/1.1 200 OK\r\n" + fields + "\r\n\r\nhi");
    };
    EXPECT_EQ(with("Content-Length: 2, 2"),
              "head 200 'OK' 1.1 [Content-Length=2, 2] length 2; body hi; end");
    EXPECT_EQ(with("Content-Length: 2 ,\t02,2"),
              "head 200 'OK' 1.1 [Content-Length=2 ,\t02,2] length 2; body hi; end");
    EXPECT_EQ(with("Content-Length: 2\r\nContent-Length: 2"),
              "head 200 'OK' 1.1 [Content-Length=2] [Content-Length=2] length 2; body hi; end");
    for (const std::string differ : {"2, 3", "3, 2, 3", "2, 2, 0"})
        EXPECT_EQ(with("Content-Length: " + differ), "error more than one message length");
    EXPECT_EQ(with("Content-Length: 2, 2\r\nTransfer-Encoding: chunked"),
              "error more than one message length");
    for (const std::string bad : {"2,", ",2", "2,,2", "2, x", "2;2", "0, "})
        EXPECT_NE(with("Content-Length: " + bad).find("error "), std::string::npos) << bad;
}

std::string unfolded(const std::string& fields, const limits& l = {}) {
    return parse("HTTP/1.1 200 OK\r\n" + fields + "\r\nContent-Length: 2\r\n\r\n\r\n", method::get,
                 false, l, true);
}
TEST(response_parser, folds_become_spaces_where_the_bytes_may_change) {
    const std::string rest = "[Content-Length=2] length 2; body \r\n; end";
    EXPECT_EQ(unfolded("A: b\r\n c"), "head 200 'OK' 1.1 [A=b   c] " + rest);
    EXPECT_EQ(unfolded("A: b\r\n\tc\r\n  d\r\nE: f"),
              "head 200 'OK' 1.1 [A=b  \tc    d] [E=f] " + rest);
    EXPECT_EQ(unfolded("A:\r\n b\r\nC: d\r\n \r\nE:\r\n "),
              "head 200 'OK' 1.1 [A=b] [C=d] [E=] " + rest);
    // It is a part of the value that it looks like, and no field.
    EXPECT_EQ(unfolded("A: b\r\n Content-Length: 9"),
              "head 200 'OK' 1.1 [A=b   Content-Length: 9] " + rest);
    // Without a fold nothing changes, and the body is no head.
    EXPECT_EQ(unfolded("A: b"), "head 200 'OK' 1.1 [A=b] " + rest);
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\r\n \r\n", method::get, false, {},
                    true),
              "head 200 'OK' 1.1 [Content-Length=5] length 5; body \r\n \r\n; end");
}
TEST(response_parser, folds_make_no_length) {
    for (const std::string doubtful :
         {"Content-Length:\r\n 2", "content-length: 2\r\n\t", "Content-Length: 1\r\n 2",
          "Transfer-Encoding:\r\n chunked", "TRANSFER-ENCODING: x,\r\n chunked", " A: b",
          "\tContent-Length: 2"})
        EXPECT_EQ(unfolded(doubtful), "error folded field line") << doubtful;
    EXPECT_EQ(unfolded("A: b\r\n \x01"), "error control character in a field value");
    const std::string trailer =
        parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n c\r\n\r\n",
              method::get, false, {}, true);
    EXPECT_NE(trailer.find("trailer [A: b]; error folded field line"), std::string::npos);
}
TEST(response_parser, folded_lines_count_once) {
    limits l;
    l.max_headers = 2;
    EXPECT_EQ(unfolded("A: b\r\n c\r\n d", l).substr(0, 8), "head 200");
    EXPECT_EQ(unfolded("A: b\r\n c\r\nD: e", l), "error too many header fields");
    l = {};
    l.max_header_bytes = 60;
    std::string folds = "A: b";
    for (int i = 0; i < 20; ++i) folds += "\r\n c";
    EXPECT_EQ(unfolded(folds, l), "error header too large");
}
TEST(response_parser, limits_hold) {
    limits l;
    l.max_body_bytes = 3;
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\n\r\nabc", method::get, true, l),
              "head 200 'OK' 1.1 until-close close; body abc; closed end");
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", method::get, false, l),
              "error body too large");
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", method::head, false, l),
              "head 200 'OK' 1.1 [Content-Length=4]; end");
    EXPECT_EQ(parse("HTTP/1.1 200 OK\r\n\r\nabcd", method::get, false, l),
              "head 200 'OK' 1.1 until-close close; body abc; error body too large");
    l = {};
    l.max_header_bytes = 30;
    EXPECT_EQ(parse("HTTP/1.1 200 " + std::string(40, 'x') + "\r\n\r\n", method::get, false, l),
              "error header too large");
}
TEST(response_parser, is_small) { EXPECT_LE(sizeof(response_parser), 48U); }

}  // namespace wire::http::response_parser_test
