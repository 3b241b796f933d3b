/* SHA-256 after FIPS 180-4, sections 4.1.2 to 6.2. */
#include "core/hash.h"

#include <string.h>

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void compress_block(uint32_t state[8], const unsigned char *p)
{
    uint32_t w[64];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
        uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void sha256_init(struct sha256 *s)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->state, start, sizeof start);
    s->bytes = 0;
}

void sha256_update(struct sha256 *s, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    while (bytes) {
        size_t at = s->bytes % 64, n = 64 - at;
        if (n > bytes)
            n = bytes;
        memcpy(s->block + at, p, n);
        s->bytes += n;
        p += n;
        bytes -= n;
        if (at + n == 64)
            compress_block(s->state, s->block);
    }
}

void sha256_end(struct sha256 *s, unsigned char out[SHA256_BYTES])
{
    uint64_t bits = s->bytes * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_update(s, "\x80", 1);
    while (s->bytes % 64 != 56)
        sha256_update(s, "", 1);
    sha256_update(s, length, 8);
    for (int i = 0; i < SHA256_BYTES; i++)
        out[i] = (unsigned char)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void hex_put(const unsigned char *bytes, int n, char *hex)
{
    for (int i = 0; i < n; i++) {
        hex[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    hex[2 * n] = 0;
}

void sha256_hex(struct sha256 *s, char hex[SHA256_HEX])
{
    unsigned char bytes[SHA256_BYTES];
    sha256_end(s, bytes);
    hex_put(bytes, SHA256_BYTES, hex);
}

void sha256_of(const void *data, size_t bytes, char hex[SHA256_HEX])
{
    struct sha256 s;
    sha256_init(&s);
    sha256_update(&s, data, bytes);
    sha256_hex(&s, hex);
}

/* ---- HMAC-SHA256 ------------------------------------------------------------------------------------------------ */

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
