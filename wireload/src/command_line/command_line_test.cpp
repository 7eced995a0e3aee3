#include "command_line/command_line.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

#include "command_line/suggest.hpp"

namespace wireload::command_line_test {

using std::chrono::milliseconds;
using std::chrono::seconds;
std::variant<options, early_exit> parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "wireload");
    return parse_command_line(arguments, 4);
}

options good(std::vector<std::string> arguments) {
    auto parsed = parse(std::move(arguments));
    if (const auto* wrong = std::get_if<early_exit>(&parsed)) throw std::runtime_error(wrong->text);
    return std::get<options>(std::move(parsed));
}

std::string refusal(std::vector<std::string> arguments) {
    auto parsed = parse(std::move(arguments));
    const auto* wrong = std::get_if<early_exit>(&parsed);
    if (wrong == nullptr) return "accepted";
    EXPECT_EQ(wrong->code, exit_usage);
    return wrong->text;
}

TEST(Options, DefaultsLoadTenConnectionsForTenSeconds) {
    const options o = good({"http://h/"});
    EXPECT_EQ(o.connections, 10U);
    EXPECT_EQ(o.duration, seconds(10));
    EXPECT_EQ(o.threads, 4U);
    EXPECT_EQ(o.method, "GET");
    EXPECT_EQ(o.timeout, seconds(5));
    EXPECT_TRUE(o.keep_alive);
    EXPECT_TRUE(o.expect.status.contains(204));
    EXPECT_FALSE(o.expect.status.contains(404));
    EXPECT_FALSE(o.expect.body.has_value());
}

TEST(Options, ReadsEveryForm) {
    const options o = good({"-c50", "--duration=1m30s", "-t", "2", "-H", "A: b", "-H", "C:d", "-m",
                            "PUT", "--cpu", "0-1,3", "--expect-status", "200,4xx", "--expect-body",
                            "ok", "--seed", "7", "http://h:1/x"});
    EXPECT_EQ(o.connections, 50U);
    EXPECT_EQ(o.duration, seconds(90));
    EXPECT_EQ(o.threads, 2U);
    const std::vector<std::pair<std::string, std::string>> headers = {{"A", "b"}, {"C", "d"}};
    EXPECT_EQ(o.headers, headers);
    EXPECT_EQ(o.method, "PUT");
    EXPECT_EQ(o.cpus, (std::vector<int>{0, 1, 3}));
    EXPECT_TRUE(o.expect.status.contains(200));
    EXPECT_TRUE(o.expect.status.contains(451));
    EXPECT_FALSE(o.expect.status.contains(201));
    EXPECT_EQ(o.expect.body, "ok");
    EXPECT_EQ(o.seed, 7U);
}

TEST(Options, AHeaderDoesNotSwallowTheUrl) {
    const options o = good({"-H", "A: b", "http://h/"});
    EXPECT_EQ(o.url, "http://h/");
}

TEST(Options, ACountAloneHasNoTimeLimit) {
    EXPECT_FALSE(good({"-n", "5", "http://h/"}).duration.has_value());
    EXPECT_FALSE(good({"--each", "5", "http://h/"}).duration.has_value());
    EXPECT_EQ(good({"-n", "5", "-d", "1s", "http://h/"}).duration, seconds(1));
}

TEST(Options, ABodyIsPosted) {
    EXPECT_EQ(good({"-b", "x", "http://h/"}).method, "POST");
    EXPECT_EQ(good({"-b", "x", "-m", "PUT", "http://h/"}).method, "PUT");
}

TEST(Options, FilesGiveBodies) {
    const std::string path = testing::TempDir() + "wireload_options_test_body";
    std::ofstream(path) << std::string("a\0b", 3);
    EXPECT_EQ(good({"--body-file", path, "http://h/"}).body, std::string("a\0b", 3));
    std::ofstream(path, std::ios::trunc).close();
    EXPECT_EQ(good({"--body-file", path, "http://h/"}).body, "");
    std::remove(path.c_str());
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "cannot read",
                        refusal({"--body-file", path, "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "cannot read",
                        refusal({"--body-file", testing::TempDir(), "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "give one of them",
                        refusal({"-b", "x", "--body-file", path, "http://h/"}));
}

TEST(Options, ThreadsNeverExceedConnections) {
    EXPECT_EQ(good({"-c", "3", "http://h/"}).threads, 3U);
    EXPECT_EQ(good({"-c", "3", "-t", "8", "http://h/"}).threads, 3U);
    EXPECT_EQ(good({"--cpu", "1", "http://h/"}).threads, 1U);
}

TEST(Options, AnOpenLoopLeavesACpuToTheServer) {
    EXPECT_EQ(good({"--rate", "5", "http://h/"}).threads, 3U);
    EXPECT_EQ(good({"--rate", "5", "--cpu", "0-3", "http://h/"}).threads, 4U);
    EXPECT_EQ(good({"--rate", "5", "-t", "4", "http://h/"}).threads, 4U);
    const auto on_one_cpu = parse_command_line({"wireload", "--rate", "5", "http://h/"}, 1);
    EXPECT_EQ(std::get<options>(on_one_cpu).threads, 1U);
}

TEST(Options, RampSetsItsOwnLoad) {
    const options o = good({"--ramp-rounds", "4", "--ramp-add", "25", "--ramp-messages", "20",
                            "--ramp-pacing", "burst", "--check", "count", "ws://h/"});
    ASSERT_TRUE(o.ramp.has_value());
    EXPECT_EQ(o.connections, 100U);
    EXPECT_EQ(o.in_flight, 20U);
    EXPECT_EQ(o.message, "{\"c\":{c}}");
    EXPECT_EQ(o.timeout, seconds(30));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "no meaning in a ramp",
                        refusal({"--ramp-rounds", "4", "-c", "3", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--interval has no meaning in a ramp",
                        refusal({"--ramp-rounds", "4", "--interval", "1s", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--ramp-rounds",
                        refusal({"--ramp-add", "4", "ws://h/"}));
}

TEST(Options, Broadcast) {
    const options o = good({"--broadcast", "-c", "50", "--pipeline", "4", "ws://h/"});
    EXPECT_TRUE(o.broadcast);
    EXPECT_EQ(o.message, "{\"b\":{c}}");
    EXPECT_EQ(o.threads, 1U);
    EXPECT_EQ(o.in_flight, 4U);
    EXPECT_EQ(good({"--broadcast", "--message", "x {c}", "ws://h/"}).message, "x {c}");
    for (const std::vector<std::string>& other : {std::vector<std::string>{"--rate", "10"},
                                                  {"--each", "5"},
                                                  {"--turns", "1/2"},
                                                  {"--deflate"},
                                                  {"--check", "echo"}}) {
        std::vector<std::string> words = {"--broadcast", "ws://h/"};
        words.insert(words.begin(), other.begin(), other.end());
        EXPECT_PRED_FORMAT2(testing::IsSubstring, other.front() + " has no meaning",
                            refusal(words));
    }
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "ws URLs", refusal({"--broadcast", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "one thread",
                        refusal({"--broadcast", "-t", "2", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "first value",
                        refusal({"--broadcast", "--message", "{uuid} {c}", "ws://h/"}));
    // What else is said of a message does not make another one right.
    EXPECT_EQ(good({"--broadcast", "--expect-length", "7", "ws://h/"}).check, reply_check::echo);
}

TEST(Options, WhatIsWrongWithAMessageOfAFileIsSaidOfTheFile) {
    const std::string path = testing::TempDir() + "wireload_options_test_message";
    std::ofstream(path) << "no counter";
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "wireload: --message-file: --check count needs",
                        refusal({"--check", "count", "--message-file", path, "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "wireload: --message-file: --broadcast tells",
                        refusal({"--broadcast", "--message-file", path, "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--message-file and --message-size say the same",
                        refusal({"--message-file", path, "--message-size", "5", "ws://h/"}));
    std::ofstream(path, std::ios::trunc) << "\xff {c}";
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--message-file: a text message has to be UTF-8",
                        refusal({"--message-file", path, "ws://h/"}));
    EXPECT_EQ(good({"--binary", "--message-file", path, "ws://h/"}).message, "\xff {c}");
    std::remove(path.c_str());
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--message: a text message has to be UTF-8",
                        refusal({"--message", "\xc3(", "ws://h/"}));
    EXPECT_EQ(good({"--message", "gr\xc3\xbc\xc3\x9f {c}", "ws://h/"}).message,
              "gr\xc3\xbc\xc3\x9f {c}");
}

TEST(Options, UsesOfConnections) {
    EXPECT_EQ(good({"--no-keepalive", "--per-connection", "7", "ws://h/"}).per_connection, 7U);
    EXPECT_TRUE(good({"--idle", "ws://h/"}).idle);
    EXPECT_EQ(good({"--idle", "ws://h/"}).duration, seconds(10));
    EXPECT_EQ(good({"--message-size", "28", "ws://h/"}).message, "abcdefghijklmnopqrstuvwxyzab");
    EXPECT_EQ(good({"--subprotocol", "a,b", "ws://h/"}).subprotocols, "a, b");
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--no-keepalive",
                        refusal({"--per-connection", "7", "ws://h/"}));
    EXPECT_PRED_FORMAT2(
        testing::IsSubstring, "open loop",
        refusal({"--per-connection", "7", "--no-keepalive", "--rate", "10", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "sends nothing",
                        refusal({"--idle", "-n", "5", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "twice",
                        refusal({"--message", "x", "--message-size", "5", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "counter in it",
                        refusal({"--check", "count", "--message-size", "5", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "such as chat",
                        refusal({"--subprotocol", "a b", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--subprotocol",
                        refusal({"-H", "sec-websocket-protocol: a", "ws://h/"}));
    EXPECT_FALSE(good({"ws://h/"}).deflate);
    EXPECT_TRUE(good({"--deflate", "wss://h/"}).deflate);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--deflate is for ws URLs",
                        refusal({"--deflate", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--deflate sends this field",
                        refusal({"--deflate", "-H", "sec-websocket-extensions: a", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "is for ws URLs",
                        refusal({"--subprotocol", "a", "http://h/"}));
}

TEST(Options, WhatSaysSomethingOfRequestsIsRefusedWhereNoneAreSent) {
    for (const std::vector<std::string>& other : {std::vector<std::string>{"-m", "POST"},
                                                  {"-b", "x"},
                                                  {"-H", "A: b"},
                                                  {"--expect-status", "200"},
                                                  {"--expect-match", "x"},
                                                  {"--correct-omission", "10ms"}}) {
        std::vector<std::string> words = {"--idle", "http://h/"};
        words.insert(words.begin(), other.begin(), other.end());
        EXPECT_PRED_FORMAT2(testing::IsSubstring, "has no meaning with --idle", refusal(words));
    }
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "has no meaning with --idle",
                        refusal({"--idle", "--binary", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--print has no meaning with --idle",
                        refusal({"--idle", "--print", "request", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "has no meaning with --idle",
                        refusal({"--idle", "--expect-length", "3", "ws://h/"}));
    // The handshake has fields.
    EXPECT_EQ(good({"--idle", "-H", "A: b", "ws://h/"}).headers.size(), 1U);
}

TEST(Options, ContentChecks) {
    const options o = good({"--expect-json", "a=1", "--expect-match", "x", "--expect-match", "y",
                            "--expect-length", "3", "ws://h/"});
    EXPECT_EQ(o.expect.match.size(), 2U);
    EXPECT_EQ(o.expect.length, 3U);
    EXPECT_EQ(o.check, reply_check::none);
    EXPECT_EQ(good({"--expect-json", "a=1", "--check", "echo", "ws://h/"}).check,
              reply_check::echo);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--expect-match '(': missing )",
                        refusal({"--expect-match", "(", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "is for http URLs",
                        refusal({"--expect-header", "A", "ws://h/"}));
}

TEST(Options, SeveralUrls) {
    const options o = good({"http://h/a", "http://i/b"});
    EXPECT_EQ(o.urls, (std::vector<std::string>{"http://h/a", "http://i/b"}));
    EXPECT_EQ(o.url, "http://h/a");
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "cannot read",
                        refusal({"--requests-file", "/no/such", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "is for http URLs",
                        refusal({"--requests-file", "x", "ws://h/"}));
}

TEST(Options, Tls) {
    EXPECT_FALSE(good({"http://h/"}).tls);
    const options plain = good({"https://h/"});
    ASSERT_TRUE(plain.tls);
    EXPECT_FALSE(plain.websocket);
    EXPECT_FALSE(plain.tls->insecure);
    EXPECT_FALSE(plain.tls->reuse_sessions);
    EXPECT_EQ(plain.tls->protocols, std::vector<std::string>{"http/1.1"});
    const options o =
        good({"--cacert", "ca", "--cert", "c", "--key", "k", "--sni", "name", "--tls-session",
              "reuse", "--tls-max-version", "1.2", "--alpn", "a,b", "wss://h/"});
    ASSERT_TRUE(o.tls);
    EXPECT_TRUE(o.websocket);
    EXPECT_EQ(o.tls->ca_file + o.tls->certificate_file + o.tls->key_file + o.tls->server_name,
              "cackname");
    EXPECT_TRUE(o.tls->reuse_sessions && o.tls->only_1_2);
    EXPECT_EQ(o.tls->protocols, (std::vector<std::string>{"a", "b"}));
    const std::vector<std::string> spaced =
        good({"--alpn", "http/1.1, a", "https://h/"}).tls->protocols;
    EXPECT_EQ(spaced, (std::vector<std::string>{"http/1.1", "a"}));
    EXPECT_TRUE(good({"--insecure", "https://h/"}).tls->insecure);
}

TEST(Options, SpacesMayStandBehindTheCommasOfAList) {
    EXPECT_EQ(good({"--source", "127.0.0.7, 127.0.0.8", "http://h/"}).sources,
              (std::vector<std::string>{"127.0.0.7", "127.0.0.8"}));
    EXPECT_EQ(good({"--subprotocol", "a, b", "ws://h/"}).subprotocols, "a, b");
}

TEST(Options, TwoHyphensEndTheOptions) {
    EXPECT_EQ(good({"-c", "3", "--", "http://h/"}).url, "http://h/");
    EXPECT_EQ(good({"http://h/", "--"}).url, "http://h/");
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "-c: begin the URL with",
                        refusal({"http://h/", "--", "-c"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "give a URL", refusal({"--"}));
}

TEST(Options, SchemesMayBeInUpperCase) {
    EXPECT_FALSE(good({"HTTP://h/"}).tls);
    EXPECT_TRUE(good({"HTTPS://h/"}).tls);
    EXPECT_TRUE(good({"Ws://h/"}).websocket);
    EXPECT_TRUE(good({"WSS://h/"}).tls);
}

TEST(Options, AUrlThatNoRequestOfAFileUsesIsRefused) {
    const std::string path = testing::TempDir() + "wireload_options_test_requests";
    std::ofstream(path) << R"([{"url": "http://h/"}, {"url": "HTTPS://i/"}])";
    EXPECT_TRUE(good({"--requests-file", path}).tls);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "http://j/: all requests of --requests-file have",
                        refusal({"--requests-file", path, "http://j/"}));
    std::ofstream(path) << R"([{"url": "http://h/"}, {"path": "/"}])";
    EXPECT_EQ(good({"--requests-file", path, "http://j/"}).url, "http://j/");
    std::remove(path.c_str());
}

TEST(Options, UnknownFlagsGetASuggestion) {
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "there is no --duratoin; did you mean --duration?",
                        refusal({"--duratoin", "10s", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "did you mean --duration?",
                        refusal({"--dur=10s", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--no-keepalive", refusal({"-k", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "see wireload --help",
                        refusal({"--zzzzzzzzzz", "http://h/"}));
}

TEST(Options, RefusalsSayWhatToDo) {
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "give a URL", refusal({}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "http://127.0.0.1:80", refusal({"127.0.0.1:80"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "begin the URL with https:// or wss://",
                        refusal({"--insecure", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "give one of them",
                        refusal({"--insecure", "--cacert", "ca.pem", "https://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "belong together",
                        refusal({"--cert", "c.pem", "https://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "new or reuse",
                        refusal({"--tls-session", "old", "wss://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "1.2 or 1.3",
                        refusal({"--tls-max-version", "1.1", "wss://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "speaks HTTP/1.1",
                        refusal({"--alpn", "http/1.1, h2", "https://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "1 to 255",
                        refusal({"--alpn", "a,,b", "https://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "not http, https, ws or wss", refusal({"ftp://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "10s or 10ms", refusal({"-d", "10", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "such as 10s", refusal({"-d", "soon", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "5s or 5ms",
                        refusal({"--rate", "9", "--deadline", "5", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "at least 1.00 us",
                        refusal({"--rate", "9", "--deadline", "500ns", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "from 1 to", refusal({"-c", "0", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "whole number", refusal({"-c", "5x", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--help", refusal({"-c"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "give one of them",
                        refusal({"-n", "1", "--each", "1", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "stay open",
                        refusal({"--pipeline", "2", "--no-keepalive", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--body", refusal({"--message", "x", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--message", refusal({"-b", "x", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "'Name: value'",
                        refusal({"-H", "nocolon", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "control character",
                        refusal({"-H", "A: b\r\nC: d", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "itself",
                        refusal({"-H", "Content-Length: 3", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "one Host",
                        refusal({"-H", "Host: a", "-H", "host: b", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "2xx",
                        refusal({"--expect-status", "20", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "echo, count or none",
                        refusal({"--check", "some", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "{c}",
                        refusal({"--check", "count", "--message", "{}", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "{random:1-1000}",
                        refusal({"--message", "{random:6-1}", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--cpu", refusal({"--cpu", "3-1", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "begin the URL with", refusal({"http://h/", "i"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "not of the same kind",
                        refusal({"http://h/", "ws://i/"}));
}

TEST(Options, HelpAndItsKinExitWithZero) {
    for (const char* word : {"-h", "--help", "--manual", "--completion=zsh"}) {
        const auto parsed = parse({word});
        ASSERT_TRUE(std::holds_alternative<early_exit>(parsed)) << word;
        EXPECT_EQ(std::get<early_exit>(parsed).code, exit_ok) << word;
    }
    const auto help = parse({"--help"});
    ASSERT_TRUE(std::holds_alternative<early_exit>(help));
    EXPECT_EQ(std::get<early_exit>(help).code, exit_ok);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "EXIT STATUS", std::get<early_exit>(help).text);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "wireload 0.",
                        std::get<early_exit>(parse({"--version"})).text);
}

TEST(Options, ThresholdsAreReadAndTheirFaultsPointedAt) {
    const options o = good({"--fail-if", "p99>20ms", "--fail-if=errors>0.1%", "http://h/"});
    ASSERT_EQ(o.thresholds.size(), 2U);
    EXPECT_EQ(o.thresholds[0].text, "p99>20ms");
    EXPECT_EQ(o.thresholds[1].metric, threshold_metric::errors_percent);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "give a --rate",
                        refusal({"--fail-if", "lag_p99>1ms", "http://h/"}));
    EXPECT_EQ(good({"--fail-if", "lag_p99>1ms", "--rate", "5", "http://h/"}).thresholds.size(), 1U);
    for (const char* never_known : {"p99>20ms", "max>1s", "ok<1", "rate<1"}) {
        EXPECT_PRED_FORMAT2(testing::IsSubstring, "with --idle nothing is answered",
                            refusal({"--idle", "--fail-if", never_known, "http://h/"}));
    }
    for (const char* known : {"errors>1", "errors>0.1%", "generator>80%"})
        EXPECT_EQ(good({"--idle", "--fail-if", known, "http://h/"}).thresholds.size(), 1U);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--fail-if 'p99>20': at 5: '20'",
                        refusal({"--fail-if", "p99>20", "http://h/"}));
}

TEST(Options, OneOutputAtMostGoesToStandardOutput) {
    EXPECT_EQ(good({"--csv", "-", "http://h/"}).csv_path, "-");
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "only one of them",
                        refusal({"--csv", "-", "--json", "-", "http://h/"}));
}

TEST(Options, EachOutputHasAFileOfItsOwn) {
    const std::string path = testing::TempDir() + "wireload_options_test_output";
    std::remove(path.c_str());
    EXPECT_EQ(good({"--csv", path, "--json", path + ".json", "http://h/"}).csv_path, path);
    for (const char* other : {"--json", "--hdr-log"}) {
        EXPECT_PRED_FORMAT2(testing::IsSubstring, "a file of its own",
                            refusal({"--csv", path, other, path, "http://h/"}));
    }
    std::ofstream(path).close();
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "a file of its own",
                        refusal({"--json", path, "--hdr-log", path, "http://h/"}));
    std::remove(path.c_str());
    EXPECT_EQ(good({"--csv", "/dev/null", "--json", "/dev/null", "http://h/"}).csv_path,
              "/dev/null");
}

// As from a shell's variable that is not set.
TEST(Options, AnEmptyValueIsNotTheDefault) {
    for (const char* name : {"--json", "--csv", "--hdr-log", "--cacert", "--sni"}) {
        EXPECT_PRED_FORMAT2(testing::IsSubstring, std::string(name) + " '': give a",
                            refusal({name, "", "https://h/"}));
    }
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--cert '': give a",
                        refusal({"--cert", "", "--key", "", "https://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--expect-sha256 '': give 64",
                        refusal({"--expect-sha256", "", "http://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--expect-match '': give a regular",
                        refusal({"--expect-match", "", "http://h/"}));
}

TEST(Options, AValueThatIsNoChoiceGetsASuggestion) {
    EXPECT_PRED_FORMAT2(testing::IsSubstring,
                        "--check ecoh: give echo, count or none; did you mean echo?",
                        refusal({"--check", "ecoh", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "did you mean serial?",
                        refusal({"--ramp-rounds", "1", "--ramp-pacing", "Serial", "ws://h/"}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "bash, zsh or fish",
                        refusal({"--completion", "tcsh"}));
}

TEST(StatusSet, RefusesWhatIsNotAList) {
    for (const char* text : {"", "2", "2x", "1000", "0xx", "200,", ",200", "200;201", "2x0"}) {
        EXPECT_FALSE(status_set::parse(text).has_value()) << text;
    }
}

TEST(Suggest, KnowsSwapsAndShortWords) {
    EXPECT_EQ(nearest("--thraeds", {"--threads", "--header"}), "--threads");
    EXPECT_EQ(nearest("--conn", {"--connections", "--check"}), "--connections");
    EXPECT_EQ(nearest("--qqqqqq", {"--threads"}), "");
}

}  // namespace wireload::command_line_test
