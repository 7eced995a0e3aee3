// @NAME@: http.hello.
//
// The lines to edit are marked EDIT: the library's headers, what it answers, and how it listens.
// The lab gives the workload, the address and the number of threads in the environment, takes the
// server for ready when it accepts, and ends it with SIGTERM.
#include <event2/buffer.h>  // EDIT
#include <event2/event.h>
#include <event2/http.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reply(struct evhttp_request *request, int status, const char *text) {  // EDIT
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", "text/plain");
    evbuffer_add(evhttp_request_get_output_buffer(request), text, strlen(text));
    evhttp_send_reply(request, status, NULL, NULL);
}

static void on_route(struct evhttp_request *request, void *text) {
    reply(request, HTTP_OK, text);
}  // EDIT

static void on_other(struct evhttp_request *request, void *unused) {  // EDIT
    (void)unused;
    reply(request, HTTP_NOTFOUND, "not found");
}

int main(void) {
    const char *host = getenv("WIREBENCH_HOST");
    const char *port = getenv("WIREBENCH_PORT");
    signal(SIGPIPE, SIG_IGN);
    struct event_base *base = event_base_new();  // EDIT
    struct evhttp *http = evhttp_new(base);
    evhttp_set_cb(http, "/route_01", on_route, "hello from route_01");
    evhttp_set_cb(http, "/route_02", on_route, "hello from route_02");
    evhttp_set_gencb(http, on_other, NULL);
    if (evhttp_bind_socket(http, host, (unsigned short)atoi(port)) != 0) {
        fprintf(stderr, "cannot listen on %s:%s\n", host, port);
        return 1;
    }
    event_base_dispatch(base);
    return 1;
}
