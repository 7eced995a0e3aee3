// `http.hello` with libevent's evhttp. An event base belongs to one thread; with several threads
// each has its own base and evhttp, and all of them accept from one listening socket, as libevent's
// users do it.
#define _GNU_SOURCE
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <event2/util.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *variable(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : otherwise;
}

// The callback's argument is the text to answer with.
static void on_route(struct evhttp_request *request, void *text) {
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", "text/plain");
    evbuffer_add(evhttp_request_get_output_buffer(request), text, strlen(text));
    evhttp_send_reply(request, HTTP_OK, "OK", NULL);
}

static void on_other(struct evhttp_request *request, void *unused) {
    (void)unused;
    // evhttp_send_error would close the connection.
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", "text/plain");
    evbuffer_add_printf(evhttp_request_get_output_buffer(request), "not found");
    evhttp_send_reply(request, HTTP_NOTFOUND, "Not Found", NULL);
}

static void resume(evutil_socket_t unused, short what, void *listener) {
    (void)unused, (void)what;
    evconnlistener_enable(listener);
}

// Mostly too many open files: the next attempt would fail at once, too, and be written of.
static void on_accept_failure(struct evconnlistener *listener, void *unused) {
    (void)unused;
    const struct timeval pause = {.tv_sec = 1};
    evconnlistener_disable(listener);
    event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, resume, listener, &pause);
}

static void *serve(void *listener) {
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    struct evhttp_bound_socket *bound =
        evhttp_accept_socket_with_handle(http, *(evutil_socket_t *)listener);
    if (bound == NULL) {
        fprintf(stderr, "cannot accept on the listening socket\n");
        exit(1);
    }
    evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(bound), on_accept_failure);
    evhttp_set_timeout(http, 60);
    evhttp_set_max_headers_size(http, 64 * 1024);
    evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_cb(http, "/route_01", on_route, "hello from route_01");
    evhttp_set_cb(http, "/route_02", on_route, "hello from route_02");
    evhttp_set_gencb(http, on_other, NULL);
    event_base_dispatch(base);
    return NULL;
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);

    char address[256];
    struct sockaddr_storage where;
    int size = sizeof where;
    snprintf(address, sizeof address, "%s:%s", variable("WIREBENCH_HOST", "127.0.0.1"),
             variable("WIREBENCH_PORT", "8080"));
    if (evutil_parse_sockaddr_port(address, (struct sockaddr *)&where, &size) != 0) {
        fprintf(stderr, "expected an address as WIREBENCH_HOST:WIREBENCH_PORT, got %s\n", address);
        return 1;
    }
    evutil_socket_t listener = socket(where.ss_family, SOCK_STREAM, 0);
    evutil_make_listen_socket_reuseable(listener);
    evutil_make_socket_nonblocking(listener);
    int on = 1;
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // accepted sockets inherit it
    if (bind(listener, (struct sockaddr *)&where, (socklen_t)size) != 0 ||
        listen(listener, 4096) != 0) {
        perror(address);
        return 1;
    }

    int threads = atoi(variable("WIREBENCH_THREADS", "1"));
    for (int i = 1; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, serve, &listener);
    }
    serve(&listener);
    return 1;
}
