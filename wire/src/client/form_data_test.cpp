// Forms as wire's own parser and Python's read them, and forms from files that change.
#include "wire/client/form_data.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "command.hpp"
#include "loop_client.hpp"
#include "scratch_folder.hpp"
#include "served.hpp"
#include "wire/proto/multipart.hpp"

namespace wire::http::form_data_test {

using testing::served;

struct forms_to_send : testing::loop_client {
    const testing::scratch_folder folder;

    std::string on_disk(const std::string& name, const std::string& content) {
        std::ofstream(folder.file(name), std::ios::binary) << content;
        return folder.file(name);
    }
};

std::string content_type_of(const client_request& r) { return r.headers.at(0).second; }
// The whole body, from memory or asked for `most` bytes at a time; its length is checked.
std::string body_of(const client_request& r, std::size_t most = 1000) {
    if (!r.source) return r.body;
    buffer out;
    while (out.size() < *r.source.length) {
        buffer piece;
        const auto state = r.source.pull(piece, most);
        if (!state) return state.error().message;
        EXPECT_LE(piece.size(), most);
        if (piece.empty()) break;
        out.append(piece.view());
    }
    EXPECT_EQ(out.size(), *r.source.length);
    buffer behind;
    EXPECT_TRUE(r.source.pull(behind, most));
    EXPECT_TRUE(behind.empty());
    return std::string(out.view());
}
std::string show(const std::string& content_type, std::string_view body) {
    const auto parts = parse_multipart(content_type, body);
    if (!parts) return parts.error().message;
    std::string all;
    for (const form_part& p : *parts) {
        all += "<" + p.name + "|" + p.filename.value_or("-") + "|" + p.content_type + "|" +
               std::string(p.data) + ">";
    }
    return all;
}
std::string shown(form_data form, std::size_t most = 1000) {
    const auto r = make_request(method::post, "http://h/", std::move(form));
    return r ? show(content_type_of(*r), body_of(*r, most)) : r.error().message;
}

TEST_F(forms_to_send, are_read_back) {
    form_data form;
    form.add("title", "two\r\nlines");
    form.add("empty", "");
    form.add_file("file", "a.txt", "--\r\ncontent\r\n", "text/plain");
    form.add_file("none", "", "");
    EXPECT_EQ(shown(std::move(form)),
              "<title|-||two\r\nlines><empty|-||><file|a.txt|text/plain|--\r\ncontent\r\n>"
              "<none||application/octet-stream|>");
}
TEST_F(forms_to_send, quote_names_as_browsers_do) {
    form_data form;
    form.add("a\"b;c=d", "1");
    form.add_file("e\r\nf", "\xC3\xA9 \\ %22\n\".txt", "2");
    EXPECT_EQ(shown(std::move(form)),
              "<a%22b;c=d|-||1><e%0D%0Af|\xC3\xA9 \\ %22%0A%22.txt|application/octet-stream|2>");
    form_data bad;
    bad.add(std::string_view("a\0b", 3), "1");
    EXPECT_EQ(make_request(method::post, "http://h/", std::move(bad)).code(), errc::bad_argument);
    form_data split;
    split.add_file("a", "b", "1", "text/plain\r\nX: y");
    EXPECT_EQ(make_request(method::post, "http://h/", std::move(split)).code(), errc::bad_argument);
}
TEST_F(forms_to_send, have_a_boundary_of_their_own) {
    const auto make = [](std::string value) {
        form_data form;
        form.add("a", std::move(value));
        return *make_request(method::post, "http://h/", std::move(form));
    };
    const client_request one = make("1");
    const std::string boundary = *multipart_boundary(content_type_of(one));
    EXPECT_LE(boundary.size(), 70U);
    EXPECT_NE(content_type_of(make("1")), content_type_of(one));
    // A form within a form.
    const client_request outer = make(one.body);
    EXPECT_EQ(show(content_type_of(outer), outer.body), "<a|-||" + one.body + ">");
}
TEST_F(forms_to_send, may_be_empty) {
    const auto r = make_request(method::post, "http://h/", form_data());
    ASSERT_TRUE(r);
    EXPECT_EQ(r->body, "--" + *multipart_boundary(content_type_of(*r)) + "--\r\n");
}
TEST_F(forms_to_send, take_files_from_disk) {
    const std::string content(5000, 'c');
    const std::string path = on_disk("b.bin", content);
    for (const std::size_t most : {1UL, 7UL, 4096UL, 65'536UL}) {
        form_data form;
        form.add("a", "1");
        ASSERT_TRUE(form.add_file_from("f", path));
        ASSERT_TRUE(form.add_file_from("g", path, "text/plain", "other"));
        ASSERT_TRUE(form.add_file_from("h", on_disk("empty", "")));
        form.add("z", "2");
        EXPECT_EQ(shown(std::move(form), most), "<a|-||1><f|b.bin|application/octet-stream|" +
                                                    content + "><g|other|text/plain|" + content +
                                                    "><h|empty|application/octet-stream|><z|-||2>");
    }
}
TEST_F(forms_to_send, refuse_what_is_no_file) {
    form_data form;
    for (const std::string& path : {folder.file("none"), folder.file("."), std::string()}) {
        const auto added = form.add_file_from("f", path);
        EXPECT_EQ(added.code(), errc::system_error);
        EXPECT_NE(added.error().message.find(path), std::string::npos);
    }
    form.add("a", "1");
    EXPECT_EQ(shown(std::move(form)), "<a|-||1>");
}
TEST_F(forms_to_send, arrive_at_a_server) {
    served s([](response res) {
        const request& r = res.request();
        res.send(std::string(r.header("content-length").value_or("chunked")) + " " +
                 show(std::string(r.header("content-type").value_or("")), r.body()));
    });
    const std::string url = "http://127.0.0.1:" + std::to_string(s.port()) + "/";
    const std::string content(300'000, 'c');
    for (const bool disk : {false, true}) {
        form_data form;
        form.add("a", "1");
        if (disk) {
            ASSERT_TRUE(form.add_file_from("f", on_disk("f", content)));
        } else {
            form.add_file("f", "f", content);
        }
        auto r = make_request(method::post, url, std::move(form));
        ASSERT_TRUE(r);
        const std::uint64_t length = disk ? *r->source.length : r->body.size();
        std::optional<result<reply>> got;
        c().send(*std::move(r), [&](result<reply> end) { got.emplace(std::move(end)); });
        ASSERT_TRUE(run_until([&] { return got.has_value(); }));
        ASSERT_TRUE(*got) << got->error().message;
        EXPECT_EQ((*got)->body(), std::to_string(length) +
                                      " <a|-||1><f|f|application/octet-stream|" + content + ">");
    }
}
TEST_F(forms_to_send, end_when_a_file_becomes_shorter) {
    served s([](response res) { res.send("all"); });
    form_data form;
    const std::string path = on_disk("f", std::string(500'000, 'x'));
    ASSERT_TRUE(form.add_file_from("f", path));
    auto r = make_request(method::post, "http://127.0.0.1:" + std::to_string(s.port()) + "/",
                          std::move(form));
    std::filesystem::resize_file(path, 10);
    std::optional<result<reply>> got;
    c().send(*std::move(r), [&](result<reply> end) { got.emplace(std::move(end)); });
    ASSERT_TRUE(run_until([&] { return got.has_value(); }));
    EXPECT_EQ(got->code(), errc::system_error);
    EXPECT_NE(got->error().message.find(path), std::string::npos);
}
TEST_F(forms_to_send, are_read_by_python_too) {
    if (!testing::is_installed("python3")) GTEST_SKIP() << "no python3";
    form_data form;
    form.add("a\"b", "1\r\n2");
    ASSERT_TRUE(form.add_file_from("f", on_disk("f g.bin", std::string("\0\xFF\r\n--", 6)), "x/y"));
    const auto r = make_request(method::post, "http://h/", std::move(form));
    ASSERT_TRUE(r);
    const std::string message =
        on_disk("message", "Content-Type: " + content_type_of(*r) + "\r\n\r\n" + body_of(*r));
    on_disk(
        "read.py",
        "import email, email.policy, sys\n"
        "m = email.message_from_bytes(open(sys.argv[1], 'rb').read(), policy=email.policy.HTTP)\n"
        "for p in m.iter_parts():\n"
        "    d = p['content-disposition'].params\n"
        "    print(d['name'], d.get('filename'), p.get_content_type(),\n"
        "          p.get_payload(decode=True).hex())\n");
    EXPECT_EQ(testing::output_of("python3 " + folder.file("read.py") + " " + message),
              "a%22b None text/plain 310d0a32\nf f g.bin x/y 00ff0d0a2d2d\n");
}

}  // namespace wire::http::form_data_test
