/* HMAC-SHA256 (RFC 2104): proves to whoever has the same key that a message is genuine. libc only: the worker uses it.
 */
#ifndef CORE_HMAC_H
#define CORE_HMAC_H

#include "core/sha256.h"

#define HMAC_BYTES SHA256_BYTES

struct hmac {
    struct sha256 inner, outer;
};

void hmac_init(struct hmac *h, const void *key, size_t bytes); /* a key of any length */
void hmac_update(struct hmac *h, const void *data, size_t bytes);
void hmac_end(struct hmac *h, unsigned char out[HMAC_BYTES]);

/* Overwrites what nobody is to find in memory later. */
void hmac_wipe(void *secret, size_t bytes);

/* Compares in a time that does not depend on where they differ. */
int hmac_equal(const unsigned char a[HMAC_BYTES], const unsigned char b[HMAC_BYTES]);

#endif
