/* Two lists of names: what would hide candidates, and what would put another table into effect than ours. */
#include "bench/engines/nccl/worker_pool.h"

#include <stdlib.h>
#include <string.h>

#include "core/vars/catalogue.h"

static const char *const pins[] = {"NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS",
                                   "NCCL_NTHREADS"};
static const char *const tables[] = {"NCCL_TUNER_PLUGIN", "NCCL_TUNER_CONFIG_FILE", "NCCL_TOPO_DUMP_FILE"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

extern char **environ;

/* "NAME=..." */
static int is_among(const char *variable, const char *const *names, size_t n)
{
    size_t length = strcspn(variable, "=");
    for (size_t i = 0; i < n; i++)
        if (strlen(names[i]) == length && !strncmp(variable, names[i], length))
            return 1;
    return 0;
}

void inherit_clear(struct words *w, struct arena *a)
{
    for (size_t i = 0; i < COUNT(pins); i++)
        words_add(w, a, pins[i]);
    for (size_t i = 0; i < COUNT(tables); i++)
        words_add(w, a, tables[i]);
}

const char *inherit_pins(struct arena *a)
{
    const char *text = NULL, *value;
    for (size_t i = 0; i < COUNT(pins); i++)
        if ((value = getenv(pins[i])) && *value)
            text = arena_printf(a, "%s%s%s=%s", text ? text : "", text ? ", " : "", pins[i], value);
    return text;
}

/* NCCL_VERSION and the like, which images set and NCCL does not look at. */
static int is_of_a_build(struct arena *a, const char *variable)
{
    const struct env_other *o = env_other_find(arena_strndup(a, variable, strcspn(variable, "=")));
    return o && o->status == ENV_BUILD;
}

void inherit_log(struct log *log)
{
    struct arena *a = arena_new();
    const char *names = "", *pinned = inherit_pins(a);
    for (char **v = environ; *v; v++)
        if (!strncmp(*v, "NCCL_", 5) && !is_among(*v, pins, COUNT(pins)) && !is_among(*v, tables, COUNT(tables)) &&
            !is_of_a_build(a, *v))
            names = arena_printf(a, "%s%s%.*s", names, *names ? ", " : "", (int)strcspn(*v, "="), *v);
    if (*names)
        log_info(log, "set in this environment, for every candidate: %s", names);
    if (pinned)
        log_info(log, "set in this environment, for the baseline only: %s", pinned);
    arena_free(a);
}
