/* Settings: which may be delivered at all, and which of those in the environment a hook has put there. */
#include <stdio.h>
#include <string.h>

#include "core/vars/catalogue.h"
#include "slurm/hook.h"

/* Nothing that a shell, a list or NCCL's own files would read as more than itself. */
#define VALUE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:;=^/+-"

/* What network plugins read: libfabric's and aws-ofi-nccl's names that the catalogue has, none of which loads code. */
static int of_fabric(const char *name)
{
    const struct env_other *o = env_other_find(name);
    return o && ((o->status == ENV_FABRIC && !strncmp(name, "FI_", 3)) ||
                 (o->status == ENV_OF_PLUGIN && !strncmp(name, "OFI_NCCL_", 9)));
}

/* A profile sets what NCCL does, not what it loads or writes: a plugin is code, and most paths are outputs. */
static int deliverable(const char *name, const char *value)
{
    const struct env_var *v = env_var_find(name);
    if (!v || strncmp(name, "NCCL_", 5) != 0)
        return of_fabric(name) && !strchr(value, '/');
    return v->grammar != ENV_G_PLUGIN && (v->grammar != ENV_G_PATH || !strcmp(name, "NCCL_TOPO_FILE"));
}

static int plain_value(const char *value)
{
    return *value && !value[strspn(value, VALUE_CHARACTERS)];
}

const struct hook_setting *hook_settings_find(const struct hook_settings *s, const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->items[i].name, name))
            return &s->items[i];
    return NULL;
}

int hook_settings_put(struct hook_settings *s, const char *name, const char *value)
{
    struct hook_setting *item = (struct hook_setting *)hook_settings_find(s, name);
    if (strlen(value) >= sizeof item->value || (!item && s->count == HOOK_SETTINGS))
        return -1;
    if (!item)
        item = &s->items[s->count++];
    snprintf(item->name, sizeof item->name, "%s", name);
    snprintf(item->value, sizeof item->value, "%s", value);
    return 0;
}

static void drop(struct hook_settings *s, const char *file, int line, const char *why)
{
    s->dropped++;
    hook_refuse(&s->first, "%s:%d: %s", file, line, why);
}

void hook_settings_add(struct hook_settings *s, const char *file, char *text)
{
    char *line;
    for (int number = 1; (line = hook_line(&text)); number++) {
        char *value = strchr(line, '=');
        if (!*line || *line == '#')
            continue;
        if (value)
            *value++ = 0;
        if (!value)
            drop(s, file, number, "expected NAME=value");
        else if (!hook_is_name(line) || !deliverable(line, value))
            drop(s, file, number, "a variable that is not delivered");
        else if (!plain_value(value))
            drop(s, file, number, "a value with characters that no setting needs");
        else if (hook_settings_put(s, line, value))
            drop(s, file, number, "too many settings, or too long a value");
    }
}

void hook_settings_ours(struct hook_settings *s, const char *listed)
{
    char name[HOOK_WORD], value[HOOK_VALUE];
    while (listed && *listed) {
        size_t whole = strcspn(listed, "|"), n = strcspn(listed, "=|");
        if (n < whole && n < sizeof name && whole - n - 1 < sizeof value) {
            snprintf(name, sizeof name, "%.*s", (int)n, listed);
            snprintf(value, sizeof value, "%.*s", (int)(whole - n - 1), listed + n + 1);
            if (hook_is_name(name) && (!strncmp(name, "NCCL", 4) || of_fabric(name)))
                hook_settings_put(s, name, value);
        }
        listed += whole + (listed[whole] == '|');
    }
}
