/* Connection between the conductor and the agents on the nodes: frames over pipes or TCP, the proof that both sides
 * have the secret of this run, and the addresses under which the conductor can be reached. libc only. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/hash.h"

/* ---- connections (connection.c) ----
 *
 * Frames in, frames out, over pipes or a socket. Nothing here blocks: what cannot be sent at once is queued, so that a
 * peer that has stopped reading stops nobody else.
 *
 * A sealed connection puts an HMAC over number, head and body behind every frame and accepts none without it: nobody in
 * between can add, change, drop or replay a frame. */

#define FRAME_VERSION 4

/* The release that this program belongs to, such as "1.2.0". Programs of two releases do not work together. */
extern const char wire_release[];

#define FRAME_MAGIC 0x6e74576bU
#define FRAME_BYTES ((size_t)1 << 16) /* the largest frame, with its head and seal */
#define FRAME_BODY  (FRAME_BYTES - sizeof(struct frame_head) - HMAC_BYTES)

/* A connection whose peer leaves more than this unread is given up. */
#define CONNECTION_QUEUE ((size_t)8 << 20)

/* In the byte order of the machine: the magic number differs where the other side has another. */
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
    char *in;           /* FRAME_BYTES: received and not handed out yet */
    size_t used, given; /* of it; `given` bytes were handed out last time */
    char *out;          /* not sent yet */
    size_t queued, space;
    int sealed;
    struct seal in_seal, out_seal;
};

/* Take over both descriptors and make them non-blocking. -1: no memory, and both are closed. */
int connection_open(struct connection *c, int from, int to);
void connection_close(struct connection *c); /* also one that is zeroed or closed */

/* Read what there is: 1; 0 the other side is gone; -1 nothing can be read now. */
int connection_fill(struct connection *c);

/* Hand out the next whole frame: 1; 0 it is not complete yet; -1 it is no frame of this build, too long, or its seal is
 * wrong: the connection is of no further use. */
int connection_next(struct connection *c, struct frame *f);

/* Copy the body, a struct of `bytes` bytes, into `to`; -1 if it has another size. */
int frame_body(const struct frame *f, void *to, size_t bytes);

/* Send a frame, or queue what cannot be sent at once. -1: the other side is gone, has left CONNECTION_QUEUE bytes
 * unread, or the body is longer than FRAME_BODY. The process must ignore SIGPIPE where `to` is a pipe. */
int connection_send(struct connection *c, int message, int rank, const void *body, size_t bytes);

/* Send what is queued, as far as it goes: 0, or -1 when the other side is gone. Call it when poll reports POLLOUT; ask
 * for that while `queued` is not 0. */
int connection_flush(struct connection *c);

/* Wait until something can be read and send what is queued meanwhile: 1; -1 nothing within `timeout_ms` (-1: no limit);
 * 0 the other side is gone. For a side that has one connection only. */
int connection_wait(struct connection *c, int timeout_ms);

/* ---- the secret and the proof (proof.c) ----
 *
 *   agent      → conductor   opening: magic, version, nonce of the agent
 *   conductor  → agent       nonce of the conductor, HMAC(secret, "conductor", opening, nonce)
 *   agent      → conductor   HMAC(secret, "agent", opening, nonce of the conductor)
 *
 * The secret itself is never sent. Both nonces are in every HMAC, so an old conversation cannot be replayed. Each side
 * has a word of its own in it, so an answer cannot be sent back to where it came from. The keys that seal all later
 * frames come from the same nonces: a relay between two honest sides learns nothing beyond what it forwards. */

#define SECRET_BYTES 32
#define SECRET_HEX   (2 * SECRET_BYTES + 1)
#define NONCE_BYTES  32

/* The environment variable that carries the secret to an agent. */
#define SECRET_VARIABLE "NCCLTUNE_SECRET"

struct secret {
    unsigned char bytes[SECRET_BYTES];
};

/* Make a new one from the kernel's random numbers; -1 with errno if it has none: there is no second-best way. */
int secret_make(struct secret *s);
void secret_hex(const struct secret *s, char hex[SECRET_HEX]);
/* Read 64 hex digits; -1 for anything else. */
int secret_parse(struct secret *s, const char *hex);
/* Read SECRET_VARIABLE, and overwrite it for readers of /proc/PID/environ too. -1: it is not set or no secret. */
int secret_take_from_environment(struct secret *s);

struct proof_opening {
    uint32_t magic, version;
    unsigned char nonce[NONCE_BYTES];
};
struct proof_answer {
    unsigned char nonce[NONCE_BYTES], mac[HMAC_BYTES];
};
struct proof_last {
    unsigned char mac[HMAC_BYTES];
};

/* A proof under way on a non-blocking descriptor; `in` holds the longest message. */
struct proof {
    struct secret secret;
    int agent; /* this side is the agent */
    struct proof_opening opening;
    struct proof_answer answer;
    unsigned char in[sizeof(struct proof_answer)];
    size_t got;
    int step, opened;
};

/* -1: no random numbers. */
int proof_begin(struct proof *p, const struct secret *s, int agent);

/* Go on as far as possible without waiting: 1 proven, 0 more has to come, -1 the other side is gone or does not have
 * the secret. Sends without SIGPIPE; what is sent fits into an empty socket buffer. */
int proof_go_on(struct proof *p, int fd);

/* The same to the end, within `patience_ms`: 0 or -1. For an agent, which has nothing else to do. */
int proof_wait(struct proof *p, int fd, int patience_ms);

/* Seal a connection after the proof and wipe `p`. */
void proof_seal(struct proof *p, struct connection *c);

/* ---- TCP between nodes (tcp.c) ---- */

/* Open `*port`, or any if that is 0, on all interfaces, IPv6 and IPv4 or IPv4 alone. A non-blocking descriptor; -1 with
 * errno. */
int wire_listen(uint16_t *port);

/* Set what every connection between nodes gets: no delay, and an end when the other side's machine or the network has
 * not answered for WIRE_SILENCE_S. */
#define WIRE_SILENCE_S 5
void wire_tune(int fd);

/* Name the network stack that this process is on: 16 hex digits of boot and network namespace, or "" if /proc does not
 * tell. */
#define WIRE_STACK 17
void wire_stack(char stack[WIRE_STACK]);

/* ---- places of the conductor (tcp.c) ----
 *
 * "9f02c1b7d4e85a36/10.0.0.1:4711,[fd00::1]:4711": the conductor's network stack, then its addresses. An agent on the
 * same stack uses the loopback address. All others skip loopback and every address that they have themselves (docker0's
 * is the same everywhere), because neither can lead to the conductor. */

#define ADDRESS_PLACES 2048 /* the longest text */

/* Write all of this machine's places; those that do not fit are left out. */
void address_places(uint16_t port, char places[ADDRESS_PLACES]);

/* Return whether an agent that has the addresses `own` should try `to`. */
int address_leads_away(const struct sockaddr *to, const struct sockaddr *const *own, int nown);

/* Connect to one of `places` after the other, each for at most `patience_ms`. `try` gets each connected descriptor and
 * returns nonzero to keep it; the others are closed. Returns the descriptor, or -1 with a sentence in `why`. */
typedef int address_try(void *user, int fd);
int address_connect(const char *places, int patience_ms, address_try *try, void *user, char *why, size_t bytes);
