/* TaskProlog: prints the settings of this job on this node in Slurm's protocol, as the user, before every task.
 *
 * The user wins. The exports of a batch script's task reach its job steps through srun, so a value may be replaced, or
 * taken back, only while it equals what NCCLTUNE_SET says that a hook put there. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/hook.h"

/* Together or not at all: a table pinned to the wrong place fails the job. NCCL_TUNER_CONFIG_FILE is never set here,
 * but a user who sets it has a table of their own. */
static const char *const table_names[] = {"NCCL_TUNER_PLUGIN", "NCCLTUNE_PROFILE", "NCCLTUNE_HASH",
                                          "NCCL_TUNER_CONFIG_FILE"};
#define TABLE_NAMES (sizeof table_names / sizeof *table_names)

struct task {
    struct hook_conf conf;
    struct hook_job job;
    struct hook_settings ours;   /* what an earlier hook set */
    struct hook_settings wanted; /* what the profile sets here */
    struct hook_settings set;    /* what will have been set */
    int explain;
    char *out;
    size_t used;
};

/* All or nothing: what does not fit is found by the caller, who then prints nothing. */
__attribute__((format(printf, 2, 3))) static void print(struct task *t, const char *fmt, ...)
{
    va_list args;
    size_t room = HOOK_OUTPUT - t->used;
    va_start(args, fmt);
    int n = vsnprintf(t->out + t->used, room, fmt, args);
    va_end(args);
    t->used += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

/* ---- whose a variable is ----------------------------------------------------------------------------------------- */

/* Whether it is set, and not by a hook. */
static int is_users(const struct task *t, const char *name)
{
    const char *now = getenv(name);
    const struct hook_setting *s = hook_settings_find(&t->ours, name);
    return now && !(s && !strcmp(s->value, now));
}

static void deliver(struct task *t, const char *name, const char *value)
{
    if (is_users(t, name)) {
        if (t->explain)
            print(t, "print nccltune: %s stays as you set it (the profile has %s)\n", name, value);
        return;
    }
    print(t, "export %s=%s\n", name, value);
    hook_settings_put(&t->set, name, value);
    if (t->explain)
        print(t, "print nccltune: %s=%s\n", name, value);
}

/* What an earlier hook set and this one does not. */
static void take_back(struct task *t)
{
    for (int i = 0; i < t->ours.count; i++) {
        const char *name = t->ours.items[i].name;
        if (getenv(name) && !is_users(t, name) && !hook_settings_find(&t->set, name))
            print(t, "unset %s\n", name);
    }
    if (t->set.count) {
        print(t, "export " HOOK_SET "=");
        for (int i = 0; i < t->set.count; i++)
            print(t, "%s%s=%s", i ? "|" : "", t->set.items[i].name, t->set.items[i].value);
        print(t, "\n");
    } else if (getenv(HOOK_SET)) {
        print(t, "unset " HOOK_SET "\n");
    }
}

/* ---- what the profile has ---------------------------------------------------------------------------------------- */

/* The profile that a batch script's hook pinned, so that every step and every node stays with it; "" when none is. */
static void pinned(const struct task *t, char hash[SHA256_HEX])
{
    const struct hook_setting *s = hook_settings_find(&t->ours, "NCCLTUNE_PROFILE");
    char prefix[HOOK_PATH + 16];
    int n = snprintf(prefix, sizeof prefix, "%s/profiles/", t->conf.store);
    hash[0] = 0;
    if (s && !is_users(t, "NCCLTUNE_PROFILE") && !strncmp(s->value, prefix, (size_t)n) && hook_is_hash(s->value + n))
        snprintf(hash, SHA256_HEX, "%s", s->value + n);
}

static int add_file(struct task *t, const struct hook_map *m, const char *name, struct hook_why *w)
{
    struct hook_file f;
    if (hook_map_load(m, name, &t->conf, &f, w))
        return -1;
    if (f.text)
        hook_settings_add(&t->wanted, name, f.text);
    free(f.text);
    return 0;
}

/* The three variables that make the plugin use this table and no other. */
static int add_table(struct task *t, const struct hook_map *m, struct hook_why *w)
{
    struct hook_file f;
    const struct hook_map_file *entry = hook_map_file(m, "tuner.csv");
    for (size_t i = 0; i < TABLE_NAMES; i++)
        if (is_users(t, table_names[i])) {
            if (t->explain)
                print(t, "print nccltune: no table, you set %s\n", table_names[i]);
            return 0;
        }
    if (!entry)
        return 0;
    if (hook_check(t->conf.plugin, t->conf.owner, w) || hook_map_load(m, "tuner.csv", &t->conf, &f, w))
        return -1;
    free(f.text);
    if (hook_settings_put(&t->wanted, "NCCL_TUNER_PLUGIN", t->conf.plugin) ||
        hook_settings_put(&t->wanted, "NCCLTUNE_PROFILE", m->dir) ||
        hook_settings_put(&t->wanted, "NCCLTUNE_HASH", entry->sha256))
        return hook_refuse(w, "too many settings");
    return 0;
}

static int collect(struct task *t, const char *hash, struct hook_why *w)
{
    char name[HOOK_WORD + 16];
    struct hook_map *m = hook_map_read(&t->conf, hash, w);
    if (!m)
        return -1;
    int rc = hook_map_fits(m, &t->job, w), node = hook_map_class(m, t->job.node);
    if (!rc && node < 0)
        rc = hook_refuse(w, "node %s is not in the profile", t->job.node);
    if (!rc) {
        snprintf(name, sizeof name, "nccl.d/%s.conf", m->classes[node].name);
        rc = add_file(t, m, "nccl.conf", w) || add_file(t, m, name, w) || add_table(t, m, w) ? -1 : 0;
    }
    if (!rc && t->explain)
        print(t, "print nccltune: profile %.12s, this node is of class %s\n", hash, m->classes[node].name);
    hook_map_free(m);
    return rc;
}

static int run(struct task *t, struct hook_why *w)
{
    char hash[SHA256_HEX];
    if (hook_job_from_environment(&t->job, w))
        return -1;
    pinned(t, hash);
    if (!hash[0] && hook_choose(&t->conf, &t->job, hash, w))
        return -1;
    if (hash[0] && collect(t, hash, w))
        return -1;
    if (!hash[0] && t->explain)
        print(t, "print nccltune: no profile for this job\n");
    for (int i = 0; i < t->wanted.count; i++)
        deliver(t, t->wanted.items[i].name, t->wanted.items[i].value);
    take_back(t);
    return t->used + 1 < HOOK_OUTPUT ? 0 : hook_refuse(w, "more output than Slurm would read");
}

void hook_task(const struct hook_options *o, struct hook_report *r)
{
    static struct task t; /* large */
    struct hook_why why = {""};
    const char *mode = getenv("NCCLTUNE");
    memset(&t, 0, sizeof t);
    t.out = r->out;
    t.explain = mode && !strcmp(mode, "explain");
    hook_settings_ours(&t.ours, getenv(HOOK_SET));
    if (mode && !strcmp(mode, "off")) {
        take_back(&t);
    } else if (hook_conf_read(o->conf, &t.conf, &why) || run(&t, &why)) {
        r->out[0] = 0;
        if (t.explain)
            snprintf(r->out, sizeof r->out, "print nccltune: nothing is set: %s\n", why.text);
        snprintf(r->log, sizeof r->log, "nothing is set: %s", why.text);
    } else if (t.wanted.dropped) {
        snprintf(r->log, sizeof r->log, "%d line%s dropped, first %s", t.wanted.dropped,
                 t.wanted.dropped == 1 ? "" : "s", t.wanted.first.text);
    }
    r->done = 1;
}
