// `http.hello` and `rest` with GNU libmicrohttpd: its own threads with epoll, and one handler,
// which it calls when the head has come, for each piece of the body, and at the end.
#include "is_json.h"

#include <microhttpd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { max_body_bytes = 16 * 1024 * 1024 };

static const char prefix[] = "Sending response: ";
enum { prefix_size = sizeof prefix - 1 };

static useconds_t delay_us;

// The reply of POST /test as it grows: the prefix, then the body.
struct request {
    size_t size, capacity;
    char *text;
};

static const char *variable(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : otherwise;
}

static enum MHD_Result send_and_release(struct MHD_Connection *connection, unsigned status,
                                        struct MHD_Response *response) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
    const enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *text) {
    return send_and_release(
        connection, status,
        MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY));
}

// Of a method that is not allowed, or the text.
static enum MHD_Result reply_to(struct MHD_Connection *connection, const char *method,
                                const char *allowed, const char *text) {
    if (strcmp(method, allowed) == 0) return reply(connection, MHD_HTTP_OK, text);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allowed);
    return send_and_release(connection, MHD_HTTP_METHOD_NOT_ALLOWED, response);
}

static bool append(struct request *request, const char *data, size_t size) {
    if (request->size + size > request->capacity) {
        size_t capacity = 2 * request->capacity + size;
        char *larger = capacity <= max_body_bytes ? realloc(request->text, capacity) : NULL;
        if (larger == NULL) return false;
        request->text = larger;
        request->capacity = capacity;
    }
    memcpy(request->text + request->size, data, size);
    request->size += size;
    return true;
}

static enum MHD_Result post_test(struct MHD_Connection *connection, struct request *request) {
    if (!is_json(request->text + prefix_size, request->size - prefix_size))
        return reply(connection, MHD_HTTP_BAD_REQUEST, "expected JSON");
    if (delay_us != 0) usleep(delay_us);
    char *text = request->text;
    request->text = NULL;  // the response frees it
    return send_and_release(
        connection, MHD_HTTP_OK,
        MHD_create_response_from_buffer(request->size, text, MHD_RESPMEM_MUST_FREE));
}

static enum MHD_Result answer(struct MHD_Connection *connection, const char *path,
                              const char *method, struct request *request) {
    if (strcmp(path, "/test/status") == 0) return reply_to(connection, method, "GET", "OK");
    if (strcmp(path, "/test") == 0) {
        if (strcmp(method, "POST") == 0) return post_test(connection, request);
        return reply_to(connection, method, "POST", "");
    }
    static const char labels[] = "/test/labels/";
    const char *label = path + sizeof labels - 1;
    if (strncmp(path, labels, sizeof labels - 1) != 0 || *label == '\0' || strchr(label, '/'))
        return reply(connection, MHD_HTTP_NOT_FOUND, "not found");
    char text[40 * 1024];  // more than the 32 KiB that the library has for a head
    snprintf(text, sizeof text, "label: %s", label);
    return reply_to(connection, method, "GET", text);
}

static enum MHD_Result on_rest(void *unused, struct MHD_Connection *connection, const char *path,
                               const char *method, const char *version, const char *data,
                               size_t *size, void **state) {
    (void)unused, (void)version;
    struct request *request = *state;
    if (request == NULL) {  // the head alone
        *state = request = calloc(1, sizeof *request);
        return request != NULL && append(request, prefix, prefix_size) ? MHD_YES : MHD_NO;
    }
    if (*size == 0) return answer(connection, path, method, request);
    if (!append(request, data, *size)) return MHD_NO;
    *size = 0;
    return MHD_YES;
}

static void on_end(void *unused, struct MHD_Connection *connection, void **state,
                   enum MHD_RequestTerminationCode how) {
    (void)unused, (void)connection, (void)how;
    struct request *request = *state;
    if (request == NULL) return;
    free(request->text);
    free(request);
}

static enum MHD_Result on_hello(void *unused, struct MHD_Connection *connection, const char *path,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **state) {
    (void)unused, (void)version, (void)data;
    static int seen;
    if (*state == NULL) {  // the head alone: a reply now would close the connection
        *state = &seen;
        return MHD_YES;
    }
    *size = 0;
    if (strcmp(path, "/route_01") == 0)
        return reply_to(connection, method, "GET", "hello from route_01");
    if (strcmp(path, "/route_02") == 0)
        return reply_to(connection, method, "GET", "hello from route_02");
    return reply(connection, MHD_HTTP_NOT_FOUND, "not found");
}

int main(void) {
    const bool is_rest = strcmp(variable("WIREBENCH_WORKLOAD", "rest"), "rest") == 0;
    const unsigned threads = (unsigned)atoi(variable("WIREBENCH_THREADS", "1"));
    delay_us = (useconds_t)atoi(variable("WIREBENCH_DELAY_MS", "0")) * 1000;
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_port = htons((uint16_t)atoi(variable("WIREBENCH_PORT", "8080")));
    inet_pton(AF_INET, variable("WIREBENCH_HOST", "127.0.0.1"), &address.sin_addr);

    const struct MHD_OptionItem several[] = {{MHD_OPTION_THREAD_POOL_SIZE, threads, NULL},
                                             {MHD_OPTION_END, 0, NULL}};
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, is_rest ? on_rest : on_hello, NULL,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_LISTEN_BACKLOG_SIZE, 4096u,
        MHD_OPTION_CONNECTION_LIMIT, 100000u, MHD_OPTION_CONNECTION_TIMEOUT, 60u,
        MHD_OPTION_NOTIFY_COMPLETED, is_rest ? on_end : NULL, NULL,
        // A pool of one is refused: without, there is one thread.
        threads > 1 ? MHD_OPTION_ARRAY : MHD_OPTION_END, several, MHD_OPTION_END);
    if (daemon == NULL) {
        fprintf(stderr, "cannot listen on port %s\n", variable("WIREBENCH_PORT", "8080"));
        return 1;
    }
    for (;;) pause();
}
