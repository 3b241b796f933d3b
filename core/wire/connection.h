/* One end of a connection between the conductor and an agent, or an agent and what it has started: frames in, frames
 * out, over pipes or a socket. Nothing here blocks: what does not go out at once is kept and sent when there is room,
 * so that a peer which has stopped reading stops nobody else. libc only.
 *
 * A connection that is sealed (core/wire/proof.h) puts an HMAC over number, head and body behind every frame and
 * takes none without: nothing can be added, changed, left out or played again by somebody in between. */
#ifndef BENCH_LAUNCH_CONNECTION_H
#define BENCH_LAUNCH_CONNECTION_H

#include <stddef.h>
#include <stdint.h>

#include "core/hmac.h"

#define FRAME_VERSION 4
#define FRAME_MAGIC   0x6e74576bU
#define FRAME_BYTES   ((size_t)1 << 16) /* the largest frame, with its head and seal */
#define FRAME_BODY    (FRAME_BYTES - sizeof(struct frame_head) - HMAC_BYTES)

/* A connection whose peer leaves this much unread is given up. */
#define CONNECTION_QUEUE ((size_t)8 << 20)

/* In the byte order of the machine: magic tells when the other side has another. */
struct frame_head {
    uint32_t magic;
    uint16_t version, message;
    int32_t rank;
    uint32_t bytes; /* of the body, which follows */
};

struct frame {
    struct frame_head head;
    const void *body; /* valid until the next call on its connection */
};

/* One direction of a sealed connection. */
struct seal {
    unsigned char key[HMAC_BYTES];
    uint64_t number; /* of the next frame */
};

struct connection {
    int from, to;       /* descriptors, the same one for a socket; -1 closed */
    char *in;           /* FRAME_BYTES: what came and was not handed out */
    size_t used, given; /* of it; `given` bytes were handed out last time */
    char *out;          /* what has not gone out yet */
    size_t queued, space;
    int sealed;
    struct seal in_seal, out_seal;
};

/* Takes over both descriptors and makes them non-blocking. -1: no memory, and they are closed. */
int connection_open(struct connection *c, int from, int to);
void connection_close(struct connection *c); /* also one that is zeroed or closed */

/* Reads what there is: 1; 0 the other side is gone; -1 nothing can be read now. */
int connection_fill(struct connection *c);

/* The next whole frame: 1; 0 it is not there yet; -1 what came is no frame of this build, too long, or its seal is not
 * right: the connection is of no further use. */
int connection_next(struct connection *c, struct frame *f);

/* The body as a struct of `bytes` bytes into `to`; -1 when it has another size. */
int frame_body(const struct frame *f, void *to, size_t bytes);

/* Sends a frame, or queues what does not go at once. -1: the other side is gone, has left CONNECTION_QUEUE bytes
 * unread, or the body is longer than FRAME_BODY. The process must ignore SIGPIPE where `to` is a pipe. */
int connection_send(struct connection *c, int message, int rank, const void *body, size_t bytes);

/* Sends what is queued, as far as it goes: 0, or -1 when the other side is gone. Call it when poll says POLLOUT, which
 * is worth asking for while `queued` is not 0. */
int connection_flush(struct connection *c);

/* Waits until something can be read (1; -1 nothing within `timeout_ms`, -1 for ever; 0 gone), and sends what is queued
 * meanwhile. For a side that has one connection only. */
int connection_wait(struct connection *c, int timeout_ms);

#endif
