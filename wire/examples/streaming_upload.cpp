// Bodies of any size that are never whole in memory: an upload that goes to a file, an echo, a
// download made on the way.
#include <wire/server/router.hpp>
#include <wire/server/server.hpp>

#include <cstdio>
#include <memory>
#include <string>

namespace http = wire::http;

namespace {

// Sends back what it reads. Where the peer takes it more slowly than it sends, its own sending has
// to wait. The answer begins with the first piece: a peer that waits for "100 Continue" before it
// sends would take the answer's head for the end of the matter, and not send its body.
struct echo {
    http::response res;
    http::body_reader in;
    http::body_writer out;

    static void start(http::response res, http::body_reader in) {
        auto self = std::make_shared<echo>(echo{std::move(res), std::move(in), {}});
        self->in.read(
            [self](std::string_view piece) {
                if (!answer(self).write(piece)) self->in.pause();
            },
            [self](wire::errc why) {
                if (why == wire::errc::none) answer(self).finish();
            });
    }

    static http::body_writer& answer(const std::shared_ptr<echo>& self) {
        if (self->res) {
            self->out = self->res.start_body();
            self->out.on_drained([self] { self->in.resume(); });
        }
        return self->out;
    }
};

// Writes numbers as long as the peer takes them.
struct numbers {
    http::body_writer out;
    int next = 0;

    void go_on() {
        while (next < 10'000'000) {
            if (!out.write(std::to_string(next++) + "\n")) return;
        }
        out.finish();
    }
};

}  // namespace

int main() {
    http::router routes;
    routes.stream(
        http::method::put, "/upload",
        [](http::response res, http::body_reader in) {
            std::shared_ptr<std::FILE> file(std::tmpfile(), [](std::FILE* f) {
                if (f != nullptr) std::fclose(f);
            });
            // The rest of the body is not waited for.
            if (file == nullptr) return res.status(500).send("no room\n");
            in.read(
                [file](std::string_view piece) {
                    std::fwrite(piece.data(), 1, piece.size(), file.get());
                },
                [file, res = std::move(res)](wire::errc why) mutable {
                    if (why != wire::errc::none) return;  // the peer has been told, or has gone
                    res.send(std::to_string(std::ftell(file.get())) + " bytes\n");
                });
        },
        10ULL << 30);
    routes.stream(http::method::post, "/echo", echo::start);
    routes.get("/numbers", [](http::response res) {
        auto made = std::make_shared<numbers>();
        made->out = res.start_body();
        made->out.on_drained([made] { made->go_on(); });
        made->go_on();
    });

    const wire::error why = http::start_server(8080, std::move(routes));
    std::fprintf(stderr, "streaming_upload: %s\n", why.message.c_str());
    return 1;
}
