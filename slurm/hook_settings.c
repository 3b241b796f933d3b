/* Settings: which may be delivered at all, and which of those in the environment a hook has put there. */
#include <stdio.h>
#include <string.h>

#include "core/vars/catalogue.h"
#include "slurm/hook.h"

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

static void drop(struct hook_settings *s, const char *file, int line, const char *name, const char *why)
{
    if (!s->dropped++)
        err_set(&s->first, ERR_FAILED, "%s:%d: %s %s", file, line, name, why);
}

void hook_settings_add(struct hook_settings *s, const char *file, char *text)
{
    char *line;
    for (int number = 1; (line = hook_line(&text)); number++) {
        char *value = strchr(line, '=');
        const char *why;
        if (!*line || *line == '#')
            continue;
        if (value)
            *value++ = 0;
        if (!value || !hook_is_name(line))
            drop(s, file, number, "expected", "NAME=value");
        else if ((why = env_undeliverable(line, value)))
            drop(s, file, number, line, why);
        else if (hook_settings_put(s, line, value))
            drop(s, file, number, line, "is one setting too many, or has too long a value");
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
            if (hook_is_name(name) && (!strncmp(name, "NCCL", 4) || !env_undeliverable(name, value)))
                hook_settings_put(s, name, value);
        }
        listed += whole + (listed[whole] == '|');
    }
}
