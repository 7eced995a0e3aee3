#include "broadcast.h"

#include <stdlib.h>
#include <string.h>

enum { most_waiting = 256 };

struct message {
    unsigned char *room;  // LWS_PRE bytes for the library, then the payload
    size_t size;
    enum lws_write_protocol kind;
};

static struct lws_ring *ring;
static struct subscriber *everybody;

static void destroy(void *element) {
    struct message *message = element;
    free(message->room);
    message->room = NULL;
}

int open_ring(void) {
    ring = lws_ring_create(sizeof(struct message), most_waiting, destroy);
    return ring == NULL ? -1 : 0;
}

// `subscriber` has taken `count` messages; those that nobody waits for are freed.
static void take(struct subscriber *subscriber, size_t count) {
    lws_ring_consume_and_update_oldest_tail(ring, struct subscriber, &subscriber->tail, count,
                                            everybody, tail, next);
}

void subscribe(struct lws *wsi, struct subscriber *subscriber) {
    subscriber->wsi = wsi;
    subscriber->is_culled = 0;
    subscriber->tail = lws_ring_get_oldest_tail(ring);
    lws_ll_fwd_insert(subscriber, next, everybody);
    // What was sent before is not for it.
    take(subscriber, lws_ring_get_count_waiting_elements(ring, &subscriber->tail));
}

void unsubscribe(struct subscriber *subscriber) {
    // What only it waited for is freed.
    take(subscriber, lws_ring_get_count_waiting_elements(ring, &subscriber->tail));
    lws_ll_fwd_remove(struct subscriber, next, subscriber, everybody);
}

// The ring is full: those who have read least make room, and are closed.
static void cull_the_slowest(void) {
    const uint32_t oldest = lws_ring_get_oldest_tail(ring);
    lws_start_foreach_ll(struct subscriber *, one, everybody) {
        if (one->tail == oldest) {
            one->is_culled = 1;
            lws_set_timeout(one->wsi, PENDING_TIMEOUT_LAGGING, LWS_TO_KILL_ASYNC);
            take(one, lws_ring_get_count_waiting_elements(ring, &one->tail));
        }
    }
    lws_end_foreach_ll(one, next);
}

int publish(const char *text, size_t size, enum lws_write_protocol kind) {
    if (lws_ring_get_count_free_elements(ring) == 0) cull_the_slowest();
    struct message message = {malloc(LWS_PRE + size), size, kind};
    if (message.room == NULL) return -1;
    if (size != 0) memcpy(message.room + LWS_PRE, text, size);
    if (lws_ring_insert(ring, &message, 1) != 1) {
        destroy(&message);
        return -1;
    }
    lws_start_foreach_ll(struct subscriber *, one, everybody) {
        lws_callback_on_writable(one->wsi);
    }
    lws_end_foreach_ll(one, next);
    return 0;
}

int send_next(struct subscriber *subscriber) {
    if (subscriber->is_culled) return -1;
    const struct message *message = lws_ring_get_element(ring, &subscriber->tail);
    if (message == NULL) return 0;
    const int written =
        lws_write(subscriber->wsi, message->room + LWS_PRE, message->size, message->kind);
    if (written < 0) return -1;
    take(subscriber, 1);
    if (lws_ring_get_element(ring, &subscriber->tail) != NULL)
        lws_callback_on_writable(subscriber->wsi);
    return 0;
}
