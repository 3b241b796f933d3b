/* SHA-256 (FIPS 180-4), so that a profile's hashes can be checked with sha256sum. libc only: the plugin uses it. */
#ifndef CORE_SHA256_H
#define CORE_SHA256_H

#include <stddef.h>
#include <stdint.h>

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

/* 2 n lower-case hex digits and the end. */
void hex_put(const unsigned char *bytes, int n, char *hex);

#endif
