// `ws.echo`, `ws.count` and `ws.broadcast` with libwebsockets: one protocol callback, as in the
// library's minimal examples. Fragments are put together in the session; replies queue there until
// the library says that the connection is writeable.
#include <libwebsockets.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "broadcast.h"
#include "count.h"

enum { max_message_bytes = 16 * 1024 * 1024 };

struct reply {
    struct reply *next;
    size_t size;
    enum lws_write_protocol kind;
    unsigned char room[];  // LWS_PRE bytes for the library, then the payload
};

struct session {
    char *message;  // what has arrived of it
    size_t size, capacity;
    struct reply *first, **end;
    struct subscriber subscriber;
};

static bool counts, broadcasts;

static int queue(struct lws *wsi, struct session *session, const char *text, size_t size,
                 enum lws_write_protocol kind) {
    struct reply *reply = malloc(sizeof *reply + LWS_PRE + size);
    if (reply == NULL) return -1;
    reply->next = NULL;
    reply->size = size;
    reply->kind = kind;
    if (size != 0) memcpy(reply->room + LWS_PRE, text, size);
    *session->end = reply;
    session->end = &reply->next;
    lws_callback_on_writable(wsi);
    return 0;
}

// {"c":n} -> {"c":n,"ts":<seconds>}
static int answer_count(struct lws *wsi, struct session *session) {
    size_t size;
    const char *answer = reply_to_count(session->message, session->size, &size);
    if (answer != NULL) return queue(wsi, session, answer, size, LWS_WRITE_TEXT);
    lws_close_reason(wsi, LWS_CLOSE_STATUS_INVALID_PAYLOAD, NULL, 0);
    return -1;
}

static int on_received(struct lws *wsi, struct session *session, const char *bytes, size_t size) {
    if (size > max_message_bytes - session->size) {
        lws_close_reason(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, NULL, 0);
        return -1;
    }
    if (session->size + size > session->capacity) {
        // All of a frame that is still to come is known.
        session->capacity = session->size + size + lws_remaining_packet_payload(wsi);
        if (session->capacity > max_message_bytes) session->capacity = max_message_bytes;
        char *larger = realloc(session->message, session->capacity);
        if (larger == NULL) return -1;
        session->message = larger;
    }
    if (size != 0) memcpy(session->message + session->size, bytes, size);
    session->size += size;
    if (!lws_is_final_fragment(wsi)) return 0;

    const enum lws_write_protocol kind =
        lws_frame_is_binary(wsi) ? LWS_WRITE_BINARY : LWS_WRITE_TEXT;
    const int result = broadcasts ? publish(session->message, session->size, kind)
                       : counts   ? answer_count(wsi, session)
                                  : queue(wsi, session, session->message, session->size, kind);
    session->size = 0;
    return result;
}

static int on_writeable(struct lws *wsi, struct session *session) {
    struct reply *reply = session->first;
    if (reply == NULL) return 0;
    session->first = reply->next;
    if (session->first == NULL) session->end = &session->first;
    const int written = lws_write(wsi, reply->room + LWS_PRE, reply->size, reply->kind);
    free(reply);
    if (session->first != NULL) lws_callback_on_writable(wsi);
    return written < 0 ? -1 : 0;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *bytes,
                    size_t size) {
    struct session *session = user;
    switch (reason) {
    case LWS_CALLBACK_ESTABLISHED:
        memset(session, 0, sizeof *session);
        session->end = &session->first;
        if (broadcasts) subscribe(wsi, &session->subscriber);
        return 0;
    case LWS_CALLBACK_RECEIVE:
        return on_received(wsi, session, bytes, size);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return broadcasts ? send_next(&session->subscriber) : on_writeable(wsi, session);
    case LWS_CALLBACK_CLOSED:
        if (broadcasts) unsubscribe(&session->subscriber);
        free(session->message);
        for (struct reply *reply = session->first, *next; reply != NULL; reply = next) {
            next = reply->next;
            free(reply);
        }
        return 0;
    default:  // plain HTTP among others, which is refused
        return lws_callback_http_dummy(wsi, reason, user, bytes, size);
    }
}

int main(void) {
    const char *workload = getenv("WIREBENCH_WORKLOAD");
    const char *port = getenv("WIREBENCH_PORT");
    counts = workload != NULL && strcmp(workload, "ws.count") == 0;
    broadcasts = workload != NULL && strcmp(workload, "ws.broadcast") == 0;
    lws_set_log_level(LLL_ERR, NULL);
    if (open_ring() != 0) return 1;

    // A session's writes are whole messages, so the receive buffer may be large without filling the
    // memory.
    const struct lws_protocols protocols[] = {
        {"wirebench", on_event, sizeof(struct session), 16 * 1024, 0, NULL, 0}, {0}};
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    info.iface = getenv("WIREBENCH_HOST");
    info.port = port != NULL ? atoi(port) : 8080;
    info.protocols = protocols;
    info.options = LWS_SERVER_OPTION_VALIDATE_UTF8;
    struct lws_context *context = lws_create_context(&info);
    if (context == NULL) {
        lwsl_err("cannot listen on port %s\n", port);
        return 1;
    }
    lws_set_log_level(0, NULL);  // else a line for each connection beyond the open files
    while (lws_service(context, 0) >= 0) continue;
    lws_context_destroy(context);
    return 1;
}
