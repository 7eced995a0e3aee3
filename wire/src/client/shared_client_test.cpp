// A client that several threads share: its three forms of a call, and its end.
#include "wire/client/shared_client.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/server/router.hpp"

namespace wire::shared_client_test {

using namespace std::chrono_literals;
using http::make_request;
using http::method;
using testing::raw_server;
using testing::served;

void mirror(http::response res) {
    const http::request& r = res.request();
    res.body() =
        std::string(r.method_text()) + " " + std::string(r.target()) + " " + std::string(r.body());
    res.send();
}
http::router echo() {
    http::router routes;
    routes.websocket("/", [](ws::session& s, const http::request&) {
        s.on_message([](ws::session& from, ws::message m) { from.send(m); });
    });
    return routes;
}
std::string root(const served& s, const std::string& scheme = "http") {
    return scheme + "://127.0.0.1:" + std::to_string(s.port());
}
std::string show(const result<http::reply>& r) {
    return r ? std::to_string(r->status()) + " " + std::string(r->body())
             : std::string(to_string(r.code()));
}
std::unique_ptr<shared_client> make(http::client_options options = {}) {
    auto made = shared_client::create(std::move(options));
    EXPECT_TRUE(made);
    return *std::move(made);
}
// Calls back `told` with what came, on whichever thread.
shared_client::callback note(std::promise<std::string>& told) {
    return [&told](result<http::reply> got) { told.set_value(show(got)); };
}
// A server that takes one connection and answers nothing. asked() returns when it has a request.
class silent_server {
public:
    std::string url() const { return server_.url(); }
    void asked() { got_.get_future().wait(); }

private:
    std::promise<void> got_;
    raw_server server_{[this](raw_server& r) {
        auto v = r.accept();
        v.request();
        got_.set_value();
        v.is_left();
    }};
};

TEST(shared_client, serves_many_threads_at_once) {
    served s(mirror);
    const auto client = make();
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            for (int n = 0; n < 50; ++n) {
                const std::string target = "/" + std::to_string(t) + "/" + std::to_string(n);
                if (show(client->get(root(s) + target)) == "200 GET " + target + " ") ++right;
            }
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(right, 400);
    std::promise<std::uint64_t> opened;
    client->on_loop([&](http::async_client& c) { opened.set_value(c.connections_opened()); });
    EXPECT_LE(opened.get_future().get(), 8U);
}
TEST(shared_client, has_short_forms) {
    served s(mirror);
    const auto client = make();
    const std::string url = root(s) + "/u";
    EXPECT_EQ(show(client->get(url)), "200 GET /u ");
    EXPECT_EQ(show(client->head(url)), "200 ");
    EXPECT_EQ(show(client->del(url)), "200 DELETE /u ");
    EXPECT_EQ(show(client->post(url, "1")), "200 POST /u 1");
    EXPECT_EQ(show(client->put(url, "2")), "200 PUT /u 2");
    EXPECT_EQ(show(client->patch(url, "3")), "200 PATCH /u 3");
    EXPECT_EQ(show(client->get("nonsense")), "malformed URL");
}
TEST(shared_client, answers_by_callback_and_future) {
    served s(mirror);
    const auto client = make();
    auto later = client->submit(make_request(method::put, root(s) + "/f", "body"));
    std::promise<std::thread::id> where;
    std::promise<std::string> told;
    client->send(make_request(method::get, root(s) + "/c"), [&](result<http::reply> got) {
        where.set_value(std::this_thread::get_id());
        told.set_value(show(got));
    });
    EXPECT_NE(where.get_future().get(), std::this_thread::get_id());
    EXPECT_EQ(told.get_future().get(), "200 GET /c ");
    EXPECT_EQ(show(later.get()), "200 PUT /f body");
}
TEST(shared_client, may_have_nobody_to_tell) {
    served s(mirror);
    const auto client = make();
    client->send(make_request(method::get, root(s) + "/"), {});
    client->send(make_request(method::get, "nonsense"), {});
    EXPECT_EQ(show(client->get(root(s) + "/a")), "200 GET /a ");
    client->stop();
    client->send(make_request(method::get, root(s) + "/"), {});
}
TEST(shared_client, lends_its_loop_and_its_client) {
    served s(mirror);
    const auto client = make();
    std::string body;
    std::promise<std::string> told;
    EXPECT_TRUE(client->on_loop([&](http::async_client& c) {
        EXPECT_TRUE(c.loop().in_loop_thread());
        http::response_pieces to;
        to.data = [&](std::string_view piece) { body += piece; };
        to.end = [&](result<http::reply> end) { told.set_value(show(end)); };
        c.send(make_request(method::get, root(s) + "/p"), std::move(to));
    }));
    EXPECT_EQ(told.get_future().get(), "200 ");
    EXPECT_EQ(body, "GET /p ");
}
TEST(shared_client, cancels_for_any_thread) {
    silent_server silent;
    const auto client = make();
    std::promise<std::string> told;
    const auto id = client->send(make_request(method::get, silent.url()), note(told));
    silent.asked();
    std::thread([&] {
        client->cancel(id + 1);  // not there
        client->cancel(id);
        client->cancel(id);
    }).join();
    EXPECT_EQ(told.get_future().get(), "cancelled");
}
TEST(shared_client, cancels_before_anything_was_sent) {
    served s(mirror);
    const auto client = make();
    std::promise<void> go;
    client->on_loop([wait = go.get_future().share()](http::async_client&) { wait.wait(); });
    std::promise<std::string> told;
    client->cancel(client->send(make_request(method::get, root(s)), note(told)));
    go.set_value();
    EXPECT_EQ(told.get_future().get(), "cancelled");
}

// ---- waiting on its own thread ----

TEST(shared_client, does_not_wait_for_itself) {
    served s(mirror);
    const auto client = make();
    std::promise<std::string> told;
    client->send(make_request(method::get, root(s)), [&](const result<http::reply>&) {
        const auto inner = client->get(root(s));
        told.set_value(std::string(to_string(inner.code())) + "; " + inner.error().message);
    });
    EXPECT_EQ(told.get_future().get(), std::string(to_string(errc::bad_argument)) + "; " + root(s) +
                                           ": a call that waits, on the client's own thread");
    EXPECT_EQ(show(client->get(root(s) + "/after")), "200 GET /after ");
}
TEST(shared_client, may_wait_on_the_thread_of_another) {
    served s(mirror);
    const auto one = make();
    const auto other = make();
    std::promise<std::string> told;
    one->on_loop([&](http::async_client&) { told.set_value(show(other->get(root(s) + "/x"))); });
    EXPECT_EQ(told.get_future().get(), "200 GET /x ");
}

// ---- its end ----

TEST(shared_client, ends_every_call_that_is_under_way) {
    silent_server silent;
    http::client_options options;
    options.max_connections_per_host = 1;  // the others wait for it
    auto client = make(options);
    std::promise<std::string> by_callback;
    client->send(make_request(method::get, silent.url()), note(by_callback));
    silent.asked();
    auto later = client->submit(make_request(method::get, silent.url()));
    std::promise<void> waits;
    std::thread blocked([&, c = client.get()] {
        waits.set_value();
        EXPECT_EQ(show(c->get(silent.url())), "stopping");
    });
    waits.get_future().wait();
    client->stop();
    EXPECT_EQ(by_callback.get_future().get(), "stopping");
    EXPECT_EQ(show(later.get()), "stopping");
    blocked.join();
}
TEST(shared_client, its_destructor_ends_calls_that_wait) {
    silent_server silent;
    auto client = make();
    auto blocked = std::async(std::launch::async,
                              [&, c = client.get()] { return show(c->get(silent.url())); });
    silent.asked();
    client.reset();
    EXPECT_EQ(blocked.get(), "stopping");
}
TEST(shared_client, refuses_calls_once_it_has_stopped) {
    served s(mirror);
    const auto client = make();
    client->stop();
    client->stop();
    EXPECT_EQ(show(client->get(root(s))), "stopping");
    EXPECT_EQ(show(client->submit(make_request(method::get, root(s))).get()), "stopping");
    std::string told;
    client->send(make_request(method::get, root(s)),
                 [&](const result<http::reply>& got) { told = show(got); });
    EXPECT_EQ(told, "stopping");
    client->dial(root(s, "ws"), {}, [&](result<ws::session*> got) {
        told = got.ok() ? "opened" : got.error().message;
    });
    EXPECT_EQ(told, root(s, "ws") + ": the client is gone");
    EXPECT_FALSE(client->on_loop([](http::async_client&) { ADD_FAILURE() << "called"; }));
    client->cancel(1);
}
TEST(shared_client, a_callback_that_is_told_of_the_end_may_ask_again) {
    silent_server silent;
    auto client = make();
    std::string told;
    client->send(make_request(method::get, silent.url()), [&](const result<http::reply>& first) {
        told = show(first);
        EXPECT_EQ(show(client->get(silent.url())), "stopping");
        client->send(make_request(method::get, silent.url()),
                     [&](const result<http::reply>& second) { told += ", " + show(second); });
    });
    silent.asked();
    client->stop();
    EXPECT_EQ(told, "stopping, stopping");
}
TEST(shared_client, its_own_callbacks_may_stop_and_destroy_it) {
    served s(mirror);
    std::promise<void> gone;
    std::shared_ptr<shared_client> client = make();
    shared_client* const raw = client.get();
    auto last = [c = std::move(client), &gone](result<http::reply>) mutable {
        c->stop();
        c.reset();
        gone.set_value();
    };
    raw->send(make_request(method::get, root(s)), std::move(last));
    gone.get_future().wait();
}
TEST(shared_client, threads_may_call_while_it_stops) {
    served s(mirror);
    const auto client = make();
    std::atomic<bool> over{false};
    std::atomic<int> unexpected{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            while (!over) {
                const auto later = show(client->submit(make_request(method::get, root(s))).get());
                // The first of all may meet another thread's cancel(1) while it is under way.
                if (later != "200 GET / " && later != "stopping" && later != "cancelled")
                    ++unexpected;
                client->cancel(1);
            }
        });
    }
    std::this_thread::sleep_for(20ms);
    std::thread other([&] { client->stop(); });
    client->stop();
    other.join();
    over = true;
    for (auto& t : threads) t.join();
    EXPECT_EQ(unexpected, 0);
}

// ---- WebSocket ----

TEST(shared_client, opens_websockets_on_its_loop) {
    served s(echo());
    const auto client = make();
    std::promise<ws::handle> opened;
    std::promise<std::string> heard;
    std::promise<std::uint16_t> ended;
    client->dial(root(s, "ws") + "/", {}, [&](result<ws::session*> got) {
        ASSERT_TRUE(got) << got.error().message;
        (*got)->on_message(
            [&](ws::session&, ws::message m) { heard.set_value(std::string(m.data)); });
        (*got)->on_close(
            [&](ws::session&, std::uint16_t code, std::string_view) { ended.set_value(code); });
        opened.set_value((*got)->handle());
    });
    const ws::handle peer = opened.get_future().get();
    peer.send("hello");
    EXPECT_EQ(heard.get_future().get(), "hello");
    client->stop();
    EXPECT_EQ(ended.get_future().get(), ws::close_code::abnormal);
    peer.send("late");
}
TEST(shared_client, ends_dials_that_are_under_way) {
    silent_server silent;
    const auto client = make();
    std::promise<std::string> told;
    client->dial("ws" + silent.url().substr(4), {}, [&](result<ws::session*> got) {
        told.set_value(std::string(to_string(got.code())));
    });
    silent.asked();
    client->stop();
    EXPECT_EQ(told.get_future().get(), "stopping");
}

}  // namespace wire::shared_client_test
