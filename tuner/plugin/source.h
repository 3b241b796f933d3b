/* Which table this process uses, and its content. */
#ifndef TUNER_PLUGIN_SOURCE_H
#define TUNER_PLUGIN_SOURCE_H

#include <limits.h>
#include <stddef.h>

/* The table that this process is to use. */
struct plugin_source {
    char path[PATH_MAX]; /* "" when there is none */
    char *text;          /* its content, from malloc; NULL after an error */
    size_t bytes;
    char error[PATH_MAX + 256]; /* why a table that was named or found cannot be used; "" when all is well */
};

/* Looks through NCCLTUNE_PROFILE, NCCL_TUNER_CONFIG_FILE, the plugin's own directory and /etc/nccltune, and reads the
 * first table there is. A variable that is set decides alone. */
void plugin_source_read(struct plugin_source *s);

#endif
