/* What the environment says about a job's coordination: who this is, where the coordinator is, what the key is. */
#ifndef TUNER_ONLINE_SETTINGS_H
#define TUNER_ONLINE_SETTINGS_H

#include "core/wire/proof.h"

#define ONLINE_HOST 256
#define ONLINE_PATH 4096

struct online_settings {
    int rank, ranks; /* of the job; 0, 1: nobody else, and no connection is needed */
    char job[192];   /* keeps this job's key apart from that of the next */
    char host[ONLINE_HOST];
    uint16_t port;
    char key_file[ONLINE_PATH]; /* "": the key is NCCLTUNE_KEY's */
};

/* 0; -1: nothing is to be done, and `why` says why where it was asked for (else ""). Reads no file. */
int online_settings_read(struct online_settings *s, char *why, size_t size);

/* The secret of this job, made of its key and its name, so that no two jobs have the same. Reads the key's file, which
 * must be closed to other users and has 16 to 4,096 bytes. -1 with `why`. */
int online_settings_secret(const struct online_settings *s, struct secret *secret, char *why, size_t size);

#endif
