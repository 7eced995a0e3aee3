// `ws.broadcast`: what is received goes into one ring, from which each subscriber is sent in its
// own time, as in the library's example minimal-ws-server-ring.
#pragma once

#include <libwebsockets.h>

#include <stdint.h>

struct subscriber {
    struct subscriber *next;
    struct lws *wsi;
    uint32_t tail;  // its place in the ring
    char is_culled;
};

int open_ring(void);
void subscribe(struct lws *wsi, struct subscriber *subscriber);
void unsubscribe(struct subscriber *subscriber);
int publish(const char *text, size_t size, enum lws_write_protocol kind);
int send_next(struct subscriber *subscriber);
