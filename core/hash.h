/* Hashes: FNV-1a for tables in memory, SHA-256 for files, HMAC-SHA256 for messages. libc only: the plugin, the hook and
 * the worker use them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* ---- FNV-1a (Fowler, Noll and Vo, draft-eastlake-fnv), 64 bits; never written to a file -------------------------- */

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* One more octet, or a word in place of one. */
static inline uint64_t hash_add(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * UINT64_C(0x100000001b3);
}

static inline uint64_t hash_text(const char *s)
{
    uint64_t hash = HASH_START;
    for (; *s; s++)
        hash = hash_add(hash, (unsigned char)*s);
    return hash;
}

/* ---- SHA-256 (FIPS 180-4): a profile's hashes can be checked with sha256sum -------------------------------------- */

struct sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
};

#define SHA256_BYTES 32
#define SHA256_HEX   65 /* 64 lower-case hex digits and the end */

void sha256_init(struct sha256 *s);
void sha256_update(struct sha256 *s, const void *data, size_t bytes);
void sha256_end(struct sha256 *s,
                unsigned char out[SHA256_BYTES]);        /* finishes; `s` needs init before it is used again */
void sha256_hex(struct sha256 *s, char hex[SHA256_HEX]); /* the same, in hex */

/* All of them for one piece of data. */
void sha256_of(const void *data, size_t bytes, char hex[SHA256_HEX]);

/* 2 n lower-case hex digits and the end. */
void hex_put(const unsigned char *bytes, int n, char *hex);

/* ---- HMAC-SHA256 (RFC 2104): proves to the holder of the same key that a message is genuine ---------------------- */

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
