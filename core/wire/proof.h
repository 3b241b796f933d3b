/* How conductor and agent prove to one another that both have the secret of this run, before the first order. libc
 * only.
 *
 *   agent      → conductor   opening: magic, version, nonce of the agent
 *   conductor  → agent       nonce of the conductor, HMAC(secret, "conductor", opening, nonce)
 *   agent      → conductor   HMAC(secret, "agent", opening, nonce of the conductor)
 *
 * The secret itself is never sent. Both nonces are in every HMAC, so an old conversation cannot be played again; each
 * side has a word of its own in it, so an answer cannot be sent back to where it came from. The keys that seal all
 * later frames (core/wire/connection.h) come from the same nonces, so passing the proofs on between two honest sides
 * gives whoever does it nothing but what he could see anyway. */
#ifndef BENCH_LAUNCH_PROOF_H
#define BENCH_LAUNCH_PROOF_H

#include "core/wire/connection.h"

#define SECRET_BYTES 32
#define SECRET_HEX   (2 * SECRET_BYTES + 1)
#define NONCE_BYTES  32

/* The environment variable that carries the secret to an agent, where a launcher's environment does. */
#define SECRET_VARIABLE "NCCLTUNE_SECRET"

struct secret {
    unsigned char bytes[SECRET_BYTES];
};

/* A new one from the kernel's random numbers; -1 with errno when it has none: there is no second-best way. */
int secret_make(struct secret *s);
void secret_hex(const struct secret *s, char hex[SECRET_HEX]);
/* From 64 hex digits; -1 for anything else. */
int secret_parse(struct secret *s, const char *hex);
/* From SECRET_VARIABLE, which is overwritten, also for readers of /proc/PID/environ. -1: it is not there or no secret.
 */
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

/* A proof under way on a non-blocking descriptor; `in` and `out` are bounded by the longest message. */
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

/* Goes on as far as it can without waiting: 1 proven, 0 more has to come, -1 the other side is gone or has not the
 * secret. Sends without SIGPIPE; what is sent fits into an empty socket buffer. */
int proof_go_on(struct proof *p, int fd);

/* The same to the end, within `patience_ms`: 0 or -1. For an agent, which has nothing else to do. */
int proof_wait(struct proof *p, int fd, int patience_ms);

/* Seals a connection after the proof and wipes `p`. */
void proof_seal(struct proof *p, struct connection *c);

#endif
