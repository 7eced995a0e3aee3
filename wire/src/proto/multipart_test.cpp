// Forms cut everywhere, limits, and bodies that are no forms.
#include "wire/proto/multipart.hpp"

#include <gtest/gtest.h>

#include "pieces.hpp"

namespace wire::http::multipart_test {

using namespace std::string_literals;
using event = multipart_parser::event;

std::string shown(const part_head& head) {
    return head.name + (head.filename ? " file=" + *head.filename : "") +
           (head.content_type.empty() ? "" : " type=" + head.content_type);
}

// What a caller sees who is given the pieces one after another.
std::string read_in(const testing::pieces& pieces, const limits& l, std::string_view boundary) {
    multipart_parser parser(boundary, l);
    part_head head;
    std::string held;
    std::string seen;
    for (const auto piece : pieces) {
        held += piece;
        for (bool more = true; more;) {
            const testing::exact_copy copy(held);
            const auto s = parser.parse(copy, head);
            switch (s.what) {
            case event::part: seen += "<" + shown(head) + ">"; break;
            case event::data: seen += s.data; break;
            case event::part_end: seen += "."; break;
            case event::end:
                if (!parser.finished()) return "finished() is wrong";
                seen += seen.ends_with("$") ? "" : "$";
                more = false;
                break;
            case event::error: return seen + "!" + std::string(to_string(s.error));
            case event::need_more: more = false; break;
            }
            if (s.what == event::need_more &&
                held.size() - s.consumed > l.max_part_header_bytes + boundary.size() + 4)
                return "holds too much";
            held.erase(0, s.consumed);
        }
    }
    return seen;
}

// The same however it is cut; after an error what came before it may be seen in part.
std::string read(std::string_view body, const limits& l = {}, std::string_view boundary = "b") {
    const std::string whole = read_in({body}, l, boundary);
    for (const auto& cut : testing::all_cuts(body)) {
        const std::string other = read_in(cut, l, boundary);
        const auto bang = whole.find('!');
        if (bang == std::string::npos ? other != whole : !other.ends_with(whole.substr(bang))) {
            ADD_FAILURE() << "whole: " << whole << "\ncut: " << other;
            break;
        }
    }
    return whole;
}

const std::string field = "Content-Disposition: form-data; name=\"a\"\r\n\r\n";

TEST(multipart, fields_and_files) {
    EXPECT_EQ(read("--b\r\n" + field +
                   "one\r\n--b\r\nContent-Disposition: form-data; name=f; "
                   "filename=\"x.txt\"\r\nContent-Type: text/plain\r\n"
                   "X-Other: y\r\n\r\nline\r\n\r\n--\r\n-- b\r\n--b--\r\n"),
              "<a>one.<f file=x.txt type=text/plain>line\r\n\r\n--\r\n-- b.$");
    EXPECT_EQ(read("--b--"), "$");
    EXPECT_EQ(read("--b--epilogue\r\n--b\r\n"), "$");
    EXPECT_EQ(read("--b \t\r\n" + field + "\r\n--b  \r\n" + field + "\r\r\n\n\r\n--b--"),
              "<a>.<a>\r\r\n\n.$");
}
TEST(multipart, what_precedes_the_first_boundary_is_skipped) {
    for (const std::string before :
         {"\r\n", "A form.\r\n", "\r\r\n", "--\r\n", "--c\r\n-\r\n", "x--b\r\n"})
        EXPECT_EQ(read(before + "--b\r\n" + field + "x\r\n--b--"), "<a>x.$") << before;
    EXPECT_EQ(read("x--b--"), "");
    EXPECT_EQ(parse_multipart("multipart/form-data; boundary=b", "x").code(), errc::bad_multipart);
}
TEST(multipart, names_as_written) {
    const auto named = [](const std::string& parameters) {
        return read("--b\r\ncontent-disposition: Form-Data" + parameters + "\r\n\r\n\r\n--b--");
    };
    EXPECT_EQ(named("; name=\"\""), "<>.$");
    EXPECT_EQ(named(";name=\"q \\\"x\\\\ %22\" ; FileName=\"C:\\dir\\f\""),
              "<q \"x\\ %22 file=C:\\dir\\f>.$");
    EXPECT_EQ(named("; name=\"\xC3\xA9\"; filename=\"\""), "<\xC3\xA9 file=>.$");
    EXPECT_EQ(named("; name=x; filename*=utf-8''y;"), "<x>.$");
    EXPECT_EQ(named("; name=x; name=y"), "<x>.$");
    for (const auto bad : {"", "; filename=x", "; name", "; name=\"x", "; name=x y", "; =x",
                           " name=x", "; name=\"x\"y"}) {
        EXPECT_EQ(named(bad), "!malformed multipart body") << bad;
    }
}
TEST(multipart, malformed) {
    for (
        const auto& bad :
        {"--bb\r\n"s, "--b\n"s, "--b\rx"s, "--b-x"s, "--b x\r\n"s, "x\r\n--b\n"s,
         "--b\r\n\r\n\r\n--b--"s, "--b\r\nContent-Disposition: attachment; name=a\r\n\r\n"s,
         "--b\r\nContent-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=a\r\n\r\n"s}) {
        EXPECT_EQ(read(bad), "!malformed multipart body") << bad;
    }
    const std::string type = "Content-Type: text/plain\r\n";
    EXPECT_EQ(read("--b\r\n" + type + field + "x\r\n--b--"), "<a type=text/plain>x.$");
    EXPECT_EQ(read("--b\r\n" + type + type + field), "!malformed multipart body");
    EXPECT_EQ(read("--b\r\n" + field + "x\r\n--bb\r\n"), "<a>x.!malformed multipart body");
    EXPECT_EQ(read("--b\r\nA : b\r\n\r\n"), "!malformed field name");
    EXPECT_EQ(read("--b\r\nA: b\n\r\n"), "!a line does not end in CRLF");
    EXPECT_EQ(read("--b\r\nA: b\r\n c\r\n\r\n"), "!folded field line");
    EXPECT_EQ(read("--b\r\n" + field + "cut off\r\n--"), "<a>cut off");
}
TEST(multipart, bounded) {
    limits l;
    l.max_parts = 2;
    l.max_part_bytes = 5;
    l.max_part_header_bytes = 64;
    l.max_headers = 3;
    const std::string part = "--b\r\n" + field + "12345\r\n";
    EXPECT_EQ(read(part + part + "--b--", l), "<a>12345.<a>12345.$");
    EXPECT_EQ(read(part + part + part + "--b--", l), "<a>12345.<a>12345.!too many parts");
    EXPECT_EQ(read("--b\r\n" + field + "123456\r\n--b--", l), "<a>!part too large");
    EXPECT_EQ(
        read("--b\r\n" + field.substr(0, field.size() - 2) + "X: 12345678901234567890\r\n\r\n", l),
        "!header too large");
    EXPECT_EQ(read("--b\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n", l), "!too many header fields");
    EXPECT_EQ(read("--b" + std::string(100, ' '), l), "!header too large");
    EXPECT_EQ(read("--b\r\n" + std::string(100, 'x'), l), "!header too large");
    EXPECT_EQ(read(std::string(64, 'x') + "\r\n--b--", l), "$");
    EXPECT_EQ(read(std::string(65, 'x') + "\r\n--b--", l), "!malformed multipart body");
}
TEST(multipart, boundaries) {
    const auto boundary = [](std::string_view type) {
        const auto b = multipart_boundary(type);
        return b ? *b : "!" + std::string(to_string(b.code()));
    };
    EXPECT_EQ(boundary("multipart/form-data; boundary=----WebKitFormBoundaryX"),
              "----WebKitFormBoundaryX");
    EXPECT_EQ(boundary("Multipart/Form-Data ; charset=utf-8; Boundary=\"a b:c\""), "a b:c");
    EXPECT_EQ(boundary("text/plain"), "!unsupported media type");
    EXPECT_EQ(boundary("multipart/mixed; boundary=x"), "!unsupported media type");
    for (const auto bad :
         {"multipart/form-data", "multipart/form-data; boundary=",
          "multipart/form-data; boundary=\"a \"", "multipart/form-data; boundary=\"a\rb\"",
          "multipart/form-data boundary=x", "multipart/form-data; boundary=a{b}"}) {
        EXPECT_EQ(boundary(bad), bad == "multipart/form-data boundary=x"s
                                     ? "!unsupported media type"
                                     : "!malformed multipart body")
            << bad;
    }
    EXPECT_EQ(boundary("multipart/form-data; boundary=" + std::string(71, 'x')),
              "!malformed multipart body");
    EXPECT_EQ(read("--a.b\r\n" + field + "x\r\n--a.\r\n--a.b--", {}, "a.b"), "<a>x\r\n--a..$");
}
TEST(multipart, a_whole_body) {
    const std::string type = "multipart/form-data; boundary=b";
    const std::string body = "--b\r\n" + field + "one\r\n--b\r\n" + field + "\r\n--b--\r\n";
    const auto parts = parse_multipart(type, body);
    ASSERT_TRUE(parts);
    ASSERT_EQ(parts->size(), 2U);
    EXPECT_EQ((*parts)[0].name, "a");
    EXPECT_EQ((*parts)[0].data, "one");
    EXPECT_EQ((*parts)[1].data, "");
    EXPECT_EQ(parse_multipart(type, body.substr(0, body.size() - 5)).code(), errc::bad_multipart);
    EXPECT_EQ(parse_multipart(type, "").code(), errc::bad_multipart);
    EXPECT_EQ(parse_multipart("text/plain", body).code(), errc::unsupported_media_type);
    limits l;
    l.max_parts = 1;
    EXPECT_EQ(parse_multipart(type, body, l).code(), errc::too_many_parts);
}

}  // namespace wire::http::multipart_test
