/* /etc/nccltune/slurm.conf: KEY=value lines, '#' in the first column begins a comment. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/locate.h"
#include "slurm/hook.h"

#define CONF_BYTES (64u << 10)

static const char *const finding_names[HOOK_FINDINGS] = {"hca", "port", "rate", "gpu", "driver", "profile"};

static int take_path(char *out, const char *value)
{
    int n = value[0] == '/' ? snprintf(out, HOOK_ROOT, "%s", value) : -1;
    return n > 1 && n < HOOK_ROOT && out[n - 1] != '/' ? 0 : -1;
}

/* A number alone: looking a name up may ask a server that is down. */
static int set_owner(struct hook_conf *c, const char *value)
{
    long long uid = 0;
    if (strcmp(value, "root") != 0 && hook_number(value, UINT32_MAX - 1, &uid))
        return -1;
    c->owner = (uid_t)uid;
    return 0;
}

/* The length of the word at `value` if it is this one, else 0. */
static size_t is_word(const char *value, const char *word)
{
    size_t n = strlen(word);
    return !strncmp(value, word, n) && (!value[n] || value[n] == ',') ? n : 0;
}

static int set_policy(struct hook_conf *c, const char *value)
{
    size_t n;
    c->drain = 0;
    c->policy = HOOK_DEFAULT;
    for (;; value++) {
        if ((n = is_word(value, "drain")))
            c->drain = 1;
        else if ((n = is_word(value, "fail")))
            c->policy = HOOK_FAIL;
        else if ((n = is_word(value, "nothing")))
            c->policy = HOOK_NONE;
        else if (!(n = is_word(value, "log")))
            return -1;
        value += n;
        if (!*value)
            return 0;
    }
}

static int set_drains(struct hook_conf *c, const char *value)
{
    c->drains = 0;
    for (;; value++) {
        size_t n = strcspn(value, ",");
        int i = 0;
        while (i < HOOK_FINDINGS && !(strlen(finding_names[i]) == n && !strncmp(finding_names[i], value, n)))
            i++;
        if (i == HOOK_FINDINGS)
            return -1;
        c->drains |= 1u << i;
        value += n;
        if (!*value)
            return 0;
    }
}

/* Earlier releases made each job a key of this secret. An unknown key refuses jobs, hence this one stays known. */
static int ignore_key(struct hook_conf *c, const char *value)
{
    (void)value;
    c->has_key = 1;
    return 0;
}

#define PATH(member) #member, "an absolute path", NULL, offsetof(struct hook_conf, member)

static const struct {
    const char *name, *expected;
    int (*set)(struct hook_conf *c, const char *value); /* NULL: a path, for the member at ... */
    size_t path;                                        /* ... this place */
} keys[] = {
    {PATH(store)},
    {PATH(plugin)},
    {PATH(scontrol)},
    {PATH(meet)},
    {"owner", "root or the number of a user", set_owner, 0},
    {"policy", "some of log,drain and fail or nothing", set_policy, 0},
    {"drain", "some of hca,port,rate,gpu,driver,profile", set_drains, 0},
    {"key", "anything", ignore_key, 0},
};
#define KEYS (sizeof keys / sizeof *keys)

static int take_line(struct hook_conf *c, const char *path, int number, char *line, struct err *e)
{
    char *value = strchr(line, '=');
    if (!*line || *line == '#')
        return 0;
    if (!value)
        return hook_refuse(e, "%s:%d: expected KEY=value", path, number);
    *value++ = 0;
    size_t i = 0;
    while (i < KEYS && strcmp(keys[i].name, line) != 0)
        i++;
    if (i == KEYS)
        return hook_refuse(e, "%s:%d: '%.40s' is not a key", path, number, line);
    int bad = keys[i].set ? keys[i].set(c, value) : take_path((char *)c + keys[i].path, value);
    return bad ? hook_refuse(e, "%s:%d: %s: expected %s", path, number, line, keys[i].expected) : 0;
}

void hook_conf_defaults(struct hook_conf *c)
{
    struct arena *a = arena_new();
    *c = (struct hook_conf){
        .store = "/etc/nccltune",
        .scontrol = "/usr/bin/scontrol",
        .policy = HOOK_DEFAULT,
        .drains = 1u << HOOK_HCA | 1u << HOOK_PORT | 1u << HOOK_GPU,
    };
    /* That of the installation that this program is part of. */
    snprintf(c->plugin, sizeof c->plugin, "%s", locate_installed(LOCATE_PLUGIN, a));
    arena_free(a);
}

int hook_conf_read(const char *path, struct hook_conf *c, struct err *e)
{
    struct hook_file f;
    hook_conf_defaults(c);
    if (access(path, F_OK) && errno == ENOENT)
        return 0;
    if (hook_read(path, 0, CONF_BYTES, &f, e))
        return -1;
    int number = 0, rc = 0;
    char *cursor = f.text, *line;
    while (!rc && (line = hook_line(&cursor)))
        rc = take_line(c, path, ++number, line, e);
    free(f.text);
    if (!rc && (c->policy == HOOK_NONE) != (c->meet[0] != 0))
        rc = hook_refuse(e, "%s: policy=nothing and meet=DIR go together", path);
    return rc;
}
