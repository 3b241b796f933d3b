/* Reading NCCL_DOUBLE_FAULT. */
#include "tests/doubles/nccl_fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "tests/doubles/nccl_law.h"

static const char *const kinds[FAULT_COUNT] = {
    "none",       "hang-init", "error-init", "hang",  "crash",       "wrong",
    "wrong-last", "nothing",   "slow",       "error", "async-error", "withhold",
};

static void broken(const char *what)
{
    fprintf(stderr, "NCCL_DOUBLE_FAULT: not understood: %s\n", what);
    abort();
}

static int env_holds(const char *setting)
{
    const char *equals = strchr(setting, '=');
    char name[128];
    if (!equals)
        broken(setting);
    snprintf(name, sizeof name, "%.*s", (int)(equals - setting), setting);
    const char *value = getenv(name);
    return value && !strcmp(value, equals + 1);
}

static int coll_is(const char *word, int coll)
{
    return coll == coll_parse(word, strlen(word));
}

static int holds(const char *key, const char *value, const struct fault_call *c, double *factor)
{
    if (!strcmp(key, "rank"))
        return strtol(value, NULL, 10) == c->rank;
    if (!strcmp(key, "coll"))
        return coll_is(value, c->coll);
    if (!strcmp(key, "algo"))
        return algo_parse(value, strlen(value)) == c->algo;
    if (!strcmp(key, "proto"))
        return proto_parse(value, strlen(value)) == c->proto;
    if (!strcmp(key, "type"))
        return strtol(value, NULL, 10) == c->type;
    if (!strcmp(key, "min"))
        return c->bytes >= strtoull(value, NULL, 10);
    if (!strcmp(key, "after"))
        return c->number >= strtoull(value, NULL, 10);
    if (!strcmp(key, "env"))
        return env_holds(value);
    if (strcmp(key, "factor") != 0)
        broken(key);
    *factor = strtod(value, NULL);
    return 1;
}

static enum fault_kind entry_holds(char *entry, const struct fault_call *c, double *factor)
{
    char *save = NULL, *word = strtok_r(entry, " ", &save);
    int kind = FAULT_NONE;
    double slower = *factor;
    for (int k = 1; word && k < FAULT_COUNT; k++)
        if (!strcmp(word, kinds[k]))
            kind = k;
    if (kind == FAULT_NONE)
        broken(word ? word : "an empty entry");
    int at_init = kind == FAULT_HANG_INIT || kind == FAULT_ERROR_INIT, all = at_init == (c->coll < 0);
    while ((word = strtok_r(NULL, " ", &save))) {
        char *value = strchr(word, '=');
        if (!value)
            broken(word);
        *value = 0;
        all &= holds(word, value + 1, c, &slower);
    }
    if (!all)
        return FAULT_NONE;
    *factor = slower;
    return (enum fault_kind)kind;
}

enum fault_kind fault_of(const struct fault_call *c, double *factor)
{
    const char *faults = getenv("NCCL_DOUBLE_FAULT");
    char copy[1024], *save = NULL;
    if (!faults || !*faults)
        return FAULT_NONE;
    snprintf(copy, sizeof copy, "%s", faults);
    for (char *entry = strtok_r(copy, ";", &save); entry; entry = strtok_r(NULL, ";", &save)) {
        enum fault_kind kind = entry_holds(entry, c, factor);
        if (kind != FAULT_NONE)
            return kind;
    }
    return FAULT_NONE;
}
