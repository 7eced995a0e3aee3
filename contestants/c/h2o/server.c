// `http.hello` with libh2o and its own event loop, after the library's examples. Each thread has
// its own loop, context and listening socket. The library itself answers 404.
#define _GNU_SOURCE
#include <h2o.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static h2o_globalconf_t config;

struct loop {
    h2o_context_t context;
    h2o_accept_ctx_t accept;
};

static const char *variable(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : otherwise;
}

struct route {
    h2o_handler_t super;
    const char *path, *text;
};

static int on_request(h2o_handler_t *handler, h2o_req_t *request) {
    const struct route *route = (const struct route *)handler;
    // The library registers prefixes.
    if (!h2o_memis(request->path_normalized.base, request->path_normalized.len, route->path,
                   strlen(route->path)))
        return -1;
    if (!h2o_memis(request->method.base, request->method.len, H2O_STRLIT("GET"))) return -1;
    request->res.status = 200;
    request->res.reason = "OK";
    request->res.content_length = strlen(route->text);
    h2o_add_header(&request->pool, &request->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
                   H2O_STRLIT("text/plain"));
    h2o_send_inline(request, route->text, strlen(route->text));
    return 0;
}

static void add_route(h2o_hostconf_t *host, const char *path, const char *text) {
    h2o_pathconf_t *where = h2o_config_register_path(host, path, 0);
    struct route *route = (struct route *)h2o_create_handler(where, sizeof *route);
    route->super.on_req = on_request;
    route->path = path;
    route->text = text;
}

static void on_accept(h2o_socket_t *listener, const char *error) {
    if (error != NULL) return;
    h2o_socket_t *accepted = h2o_evloop_socket_accept(listener);
    if (accepted != NULL) h2o_accept(listener->data, accepted);
}

static int listening_socket(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_port = htons((uint16_t)atoi(variable("WIREBENCH_PORT", "8080")));
    inet_pton(AF_INET, variable("WIREBENCH_HOST", "127.0.0.1"), &address.sin_addr);
    const int on = 1;
    const int one = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(one, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(one, (struct sockaddr *)&address, sizeof address) != 0 || listen(one, 4096) != 0) {
        perror("cannot listen");
        exit(1);
    }
    return one;
}

static void *serve(void *unused) {
    (void)unused;
    struct loop *loop = calloc(1, sizeof *loop);
    h2o_context_init(&loop->context, h2o_evloop_create(), &config);
    loop->accept.ctx = &loop->context;
    loop->accept.hosts = config.hosts;
    h2o_socket_t *listener =
        h2o_evloop_socket_create(loop->context.loop, listening_socket(), H2O_SOCKET_FLAG_DONT_READ);
    listener->data = &loop->accept;
    h2o_socket_read_start(listener, on_accept);
    while (h2o_evloop_run(loop->context.loop, INT32_MAX) == 0) continue;
    return NULL;
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    h2o_config_init(&config);
    config.http1.req_timeout = 60 * 1000;
    h2o_hostconf_t *host =
        h2o_config_register_host(&config, h2o_iovec_init(H2O_STRLIT("default")), 65535);
    add_route(host, "/route_01", "hello from route_01");
    add_route(host, "/route_02", "hello from route_02");

    const int threads = atoi(variable("WIREBENCH_THREADS", "1"));
    for (int i = 1; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, serve, NULL);
    }
    serve(NULL);
    return 1;
}
