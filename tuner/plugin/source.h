/* The table of this process, and its content. */
#pragma once

#include <limits.h>
#include <stddef.h>

/* The table that this process is to use. */
struct plugin_source {
    char path[PATH_MAX]; /* "" when there is none */
    char *text;          /* its content, from malloc; NULL after an error */
    size_t bytes;
    char error[PATH_MAX + 256]; /* why a table that was named or found cannot be used; "" when all is well */
};

/* Path to read a profile from: the job prolog's copy on this node, `near`, or the given path.
 */
const char *plugin_near(const char *profile, char near[PATH_MAX]);

/* Looks through NCCLTUNE_PROFILE, NCCL_TUNER_CONFIG_FILE, the plugin's own directory and /etc/nccltune, and reads the
 * first table there is. A variable that is set decides alone. */
void plugin_source_read(struct plugin_source *s);

/* A table in its prepared form: tuner.bin beside the tuner.csv that a variable names. */
struct plugin_prepared {
    char path[PATH_MAX];
    void *data; /* only read */
    size_t bytes;
    int is_mapped;
};

/* 1; 0: there is none, or one that somebody else than root or this user can have written. */
int plugin_prepared_read(struct plugin_prepared *p);
void plugin_prepared_free(struct plugin_prepared *p);
