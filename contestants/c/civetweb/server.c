// `http.hello` and `rest` with CivetWeb: a handler for each pattern of paths, as in its examples.
// CivetWeb itself answers 404 where none matches. Its workers serve one connection each.
#include "is_json.h"

#include <civetweb.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { max_body_bytes = 16 * 1024 * 1024 };

// How many kept connections are served at a time. More take seconds to start.
static const char workers_of_hello[] = "4000";
static const char prefix[] = "Sending response: ";
enum { prefix_size = sizeof prefix - 1 };

static const char *variable(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : otherwise;
}

static int reply(struct mg_connection *connection, int status, const char *text, size_t size) {
    char length[32];
    snprintf(length, sizeof length, "%zu", size);
    mg_response_header_start(connection, status);
    mg_response_header_add(connection, "Content-Type", "text/plain", -1);
    mg_response_header_add(connection, "Content-Length", length, -1);
    mg_response_header_send(connection);
    mg_write(connection, text, size);
    return status;
}

static int reply_text(struct mg_connection *connection, int status, const char *text) {
    return reply(connection, status, text, strlen(text));
}

static int not_allowed(struct mg_connection *connection, const char *allowed) {
    mg_response_header_start(connection, 405);
    mg_response_header_add(connection, "Allow", allowed, -1);
    mg_response_header_add(connection, "Content-Length", "0", -1);
    mg_response_header_send(connection);
    return 405;
}

static int is_method(struct mg_connection *connection, const char *method) {
    return strcmp(mg_get_request_info(connection)->request_method, method) == 0;
}

// The prefix and the whole body; NULL if it is too large.
static char *read_body(struct mg_connection *connection, size_t *size) {
    size_t capacity = 4096;
    char *text = malloc(capacity);
    if (text != NULL) memcpy(text, prefix, prefix_size);
    *size = prefix_size;
    while (text != NULL) {
        const int got = mg_read(connection, text + *size, capacity - *size);
        if (got <= 0) break;
        *size += (size_t)got;
        if (*size < capacity) continue;
        capacity *= 2;
        char *larger = capacity <= max_body_bytes ? realloc(text, capacity) : NULL;
        if (larger == NULL) free(text);
        text = larger;
    }
    return text;
}

static int on_test(struct mg_connection *connection, void *delay_us) {
    if (!is_method(connection, "POST")) return not_allowed(connection, "POST");
    size_t size;
    char *text = read_body(connection, &size);
    if (text == NULL) return reply_text(connection, 413, "too large");
    int status;
    if (!is_json(text + prefix_size, size - prefix_size)) {
        status = reply_text(connection, 400, "expected JSON");
    } else {
        if (*(useconds_t *)delay_us != 0) usleep(*(useconds_t *)delay_us);
        status = reply(connection, 200, text, size);
    }
    free(text);
    return status;
}

static int on_text(struct mg_connection *connection, void *text) {
    if (!is_method(connection, "GET")) return not_allowed(connection, "GET");
    return reply_text(connection, 200, text);
}

static int on_label(struct mg_connection *connection, void *unused) {
    (void)unused;
    if (!is_method(connection, "GET")) return not_allowed(connection, "GET");
    const char *label = strrchr(mg_get_request_info(connection)->local_uri, '/') + 1;
    char text[40 * 1024];  // more than the 16 KiB that the library takes of a head
    snprintf(text, sizeof text, "label: %s", label);
    return reply_text(connection, 200, text);
}

static int serves_rest(void) { return strcmp(variable("WIREBENCH_WORKLOAD", "rest"), "rest") == 0; }

// Called when it listens already, before any request is processed.
static void add_routes(const struct mg_context *starting) {
    static useconds_t delay_us;
    delay_us = (useconds_t)atoi(variable("WIREBENCH_DELAY_MS", "0")) * 1000;
    struct mg_context *context = (struct mg_context *)starting;
    // $: the end of the path, else what is below matches too; *: anything but a slash.
    if (serves_rest()) {
        mg_set_request_handler(context, "/test$", on_test, &delay_us);
        mg_set_request_handler(context, "/test/status$", on_text, "OK");
        mg_set_request_handler(context, "/test/labels/*$", on_label, NULL);
    } else {
        mg_set_request_handler(context, "/route_01$", on_text, "hello from route_01");
        mg_set_request_handler(context, "/route_02$", on_text, "hello from route_02");
    }
}

int main(void) {
    char address[256];
    snprintf(address, sizeof address, "%s:%s", variable("WIREBENCH_HOST", "127.0.0.1"),
             variable("WIREBENCH_PORT", "8080"));
    const char *options[] = {"listening_ports",
                             address,
                             "num_threads",
                             serves_rest() ? variable("WIREBENCH_THREADS", "1") : workers_of_hello,
                             "listen_backlog",
                             "4096",
                             "connection_queue",
                             "4096",
                             "enable_keep_alive",
                             "yes",
                             "keep_alive_timeout_ms",
                             "75000",
                             "tcp_nodelay",
                             "1",
                             NULL};
    struct mg_callbacks callbacks = {0};
    callbacks.init_context = add_routes;

    mg_init_library(0);
    if (mg_start(&callbacks, NULL, options) == NULL) {
        fprintf(stderr, "cannot listen on %s\n", address);
        return 1;
    }
    for (;;) pause();
}
