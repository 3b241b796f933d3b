/* HMAC after RFC 2104. */
#include "core/hmac.h"

#include <string.h>

#define BLOCK 64

void hmac_init(struct hmac *h, const void *key, size_t bytes)
{
    unsigned char padded[BLOCK] = {0};
    if (bytes > BLOCK) {
        sha256_init(&h->inner);
        sha256_update(&h->inner, key, bytes);
        sha256_end(&h->inner, padded);
    } else {
        memcpy(padded, key, bytes);
    }
    for (int i = 0; i < BLOCK; i++)
        padded[i] ^= 0x36;
    sha256_init(&h->inner);
    sha256_update(&h->inner, padded, BLOCK);
    for (int i = 0; i < BLOCK; i++)
        padded[i] ^= 0x36 ^ 0x5c;
    sha256_init(&h->outer);
    sha256_update(&h->outer, padded, BLOCK);
}

void hmac_update(struct hmac *h, const void *data, size_t bytes)
{
    sha256_update(&h->inner, data, bytes);
}

void hmac_end(struct hmac *h, unsigned char out[HMAC_BYTES])
{
    unsigned char inner[SHA256_BYTES];
    sha256_end(&h->inner, inner);
    sha256_update(&h->outer, inner, sizeof inner);
    sha256_end(&h->outer, out);
}

/* explicit_bzero, which the plugin's containers need not have. */
void hmac_wipe(void *secret, size_t bytes)
{
    memset(secret, 0, bytes);
    __asm__ volatile("" : : "r"(secret) : "memory");
}

int hmac_equal(const unsigned char a[HMAC_BYTES], const unsigned char b[HMAC_BYTES])
{
    unsigned differ = 0;
    for (int i = 0; i < HMAC_BYTES; i++)
        differ |= a[i] ^ b[i];
    return !differ;
}
