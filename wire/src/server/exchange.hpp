// A request and its response while they are on their way. Kept in a pool by the loop that made it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "wire/server/error_pages.hpp"
#include "wire/server/request.hpp"
#include "wire/server/response.hpp"

namespace wire::http::detail {

class connection;
class worker;

// The way back to a loop from wherever a response has gone; outlives the loop.
struct way_home {
    std::mutex mutex;
    event_loop* loop = nullptr;             // guarded by mutex; null once the loop is going
    worker* home = nullptr;                 // used on the loop's thread
    std::atomic<std::thread::id> thread{};  // while the loop runs, else none
    error_pages pages;                      // does not change
};

struct exchange {
    explicit exchange(std::shared_ptr<way_home> w) : way(std::move(w)) {}

    // Ends the part of the response's holder: on the loop's thread at once, from another by post().
    static void deliver(exchange* e);
    void clear() noexcept;
    // Answers with one of the library's own refusals: the page that there is for it, else `text` or the reason as plain text.
    // say() keeps the fields that were added.
    void say(int code, std::string_view text = {});
    void fail(int code, std::string_view text = {});

    std::shared_ptr<way_home> way;
    connection* from = nullptr;  // loop's thread only; null when that is gone
    request req;

    int status = 200;
    std::string fields;          // whole lines
    std::string body;
    bool has_type = false;
    bool refused = false;        // a field was not fit to be sent
    bool close = false;
    response::open_handler open; // set: upgrade to WebSocket
    std::vector<unique_function<void(response&)>> hooks;  // of response::on_send()
};

}  // namespace wire::http::detail
