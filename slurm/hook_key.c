/* The key that the ranks of a job know one another by, where the site has a secret that is on all nodes: made of that,
 * the job's number and its user, so that all nodes have it without a word between them, and no other job does. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/hmac.h"
#include "slurm/hook.h"

#define LEAST  32 /* bytes of a secret */
#define MOST   4096
#define ENDING ".key" /* no job is called so */

static void derive(const struct hook_file *secret, const char *job, uid_t user, char hex[SHA256_HEX])
{
    static const char purpose[] = "nccltune key of a job";
    unsigned char mac[HMAC_BYTES];
    char who[HOOK_WORD + 32];
    struct hmac h;
    int n = snprintf(who, sizeof who, "%s/%u", job, (unsigned)user);
    hmac_init(&h, secret->text, secret->bytes);
    hmac_update(&h, purpose, sizeof purpose);
    hmac_update(&h, who, (size_t)n + 1);
    hmac_end(&h, mac);
    hex_put(mac, sizeof mac, hex);
}

int hook_key_make(const struct hook_conf *c, const char *job, struct hook_key *k, struct hook_why *w)
{
    const char *user = getenv("SLURM_JOB_UID");
    struct hook_file secret;
    long long uid;
    *k = (struct hook_key){""};
    if (!c->key[0])
        return 0;
    if (!user || hook_number(user, UINT32_MAX - 1, &uid))
        return hook_refuse(w, "SLURM_JOB_UID is not set: the job gets no key");
    if (hook_read_secret(c->key, MOST, &secret, w))
        return -1;
    size_t bytes = secret.bytes;
    k->user = (uid_t)uid;
    if (bytes >= LEAST)
        derive(&secret, job, k->user, k->hex);
    hmac_wipe(secret.text, bytes);
    free(secret.text);
    return k->hex[0] ? 0 : hook_refuse(w, "%s has %zu bytes; a secret has %d at least", c->key, bytes, LEAST);
}

int hook_key_write(const char *run, const char *job, const struct hook_key *k, struct hook_why *w)
{
    char name[HOOK_WORD + sizeof ENDING];
    snprintf(name, sizeof name, "%s" ENDING, job);
    return k->hex[0] ? hook_write(run, name, k->hex, k->user, 0400, w) : 0;
}

int hook_key_read(const char *run, const char *job, char hex[SHA256_HEX])
{
    char path[HOOK_PATH];
    struct hook_file f;
    struct hook_why ignored = {""};
    snprintf(path, sizeof path, "%s/%s" ENDING, run, job);
    if (hook_read(path, getuid(), SHA256_HEX, &f, &ignored))
        return -1;
    int rc = hook_is_hash(f.text) ? 0 : -1;
    snprintf(hex, SHA256_HEX, "%s", rc ? "" : f.text);
    free(f.text);
    return rc;
}

void hook_key_remove(const char *run, const char *job)
{
    char path[HOOK_PATH];
    snprintf(path, sizeof path, "%s/%s" ENDING, run, job);
    unlink(path);
}
