/* FNV-1a (Fowler, Noll and Vo, draft-eastlake-fnv), 64 bits, for tables in memory: no hash of it is ever written to a
 * file. Inline, for the plugin. */
#ifndef CORE_HASH_H
#define CORE_HASH_H

#include <stdint.h>

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

#endif
