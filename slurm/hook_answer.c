/* RUN/JOB: what the prolog has decided for a job on this node. "KEY value" lines, "end" on the last one. The task
 * prolog reads nothing else, so whatever it needs is in here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/trust.h"
#include "slurm/hook.h"

#define FORMAT       "nccltune-job/1"
#define ANSWER_BYTES (64u << 10)
#define NODES_MAX    (1LL << 30)

static const char *const states[] = {"unknown", "nothing", "profile"};
static const char *const policies[] = {"fail", "default", "nothing"};

#define TEXT(key, member) key, offsetof(struct hook_answer, member), sizeof((struct hook_answer *)0)->member

/* Texts, which have no line where they are empty. */
static const struct text {
    const char *key;
    size_t at, size;
} texts[] = {{TEXT("job", job)},       {TEXT("why", why)}, {TEXT("profile", hash)}, {TEXT("class", class_name)},
             {TEXT("plugin", plugin)}, {TEXT("dir", dir)}, {TEXT("table", table)}};
#define TEXTS (sizeof texts / sizeof *texts)

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void print_settings(const struct hook_settings *s, const char *key, FILE *out)
{
    for (int i = 0; i < s->count; i++)
        fprintf(out, "%s %s=%s\n", key, s->items[i].name, s->items[i].value);
}

int hook_answer_print(const struct hook_answer *a, char *text, size_t size)
{
    FILE *out = fmemopen(text, size, "w");
    if (!out)
        return -1;
    fprintf(out, FORMAT "\nnodes %d\nmixed %d\npolicy %s\nstate %s\n", a->nodes, a->mixed, policies[a->policy],
            states[a->state]);
    for (const struct text *t = texts; t < texts + TEXTS; t++)
        if (((const char *)a)[t->at])
            fprintf(out, "%s %s\n", t->key, (const char *)a + t->at);
    print_settings(&a->common, "common", out);
    print_settings(&a->local, "local", out);
    fputs("end\n", out);
    long used = ftell(out);
    int bad = ferror(out) | fclose(out);
    return bad || used < 0 || (size_t)used >= size ? -1 : 0;
}

int hook_run_open(const char *run, struct err *e)
{
    if (mkdir(run, 0755) && errno != EEXIST)
        return hook_refuse(e, "%s cannot be made: %s", run, strerror(errno));
    struct stat st;
    int dir = trust_open(run, TRUST_WRITE, 0, O_RDONLY | O_DIRECTORY, &st, e);
    if (dir < 0)
        return -1;
    if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)) {
        close(dir);
        return hook_refuse(e, "%s is not root's alone", run);
    }
    return dir;
}

int hook_answer_write(const char *run, const char *job, const char *text, struct err *e)
{
    int dir = hook_run_open(run, e);
    if (dir < 0)
        return -1;
    int rc = trust_put(dir, job, text, strlen(text), 0644) ? hook_refuse(e, "%s/%s: %s", run, job, strerror(errno)) : 0;
    close(dir);
    return rc;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int one_of(const char *value, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(value, words[i]))
            return i;
    return -1;
}

static int take_setting(struct hook_settings *s, char *line)
{
    char *value = strchr(line, '=');
    if (!value)
        return -1;
    *value++ = 0;
    return hook_is_name(line) ? hook_settings_put(s, line, value) : -1;
}

static int take_number(const char *value, long long high, int *out)
{
    long long n;
    if (hook_number(value, high, &n))
        return -1;
    *out = (int)n;
    return 0;
}

static int take_word(struct hook_answer *a, const char *key, const char *value)
{
    for (const struct text *t = texts; t < texts + TEXTS; t++)
        if (!strcmp(key, t->key)) {
            int n = snprintf((char *)a + t->at, t->size, "%s", value);
            return n > 0 && (size_t)n < t->size ? 0 : -1;
        }
    return -1;
}

static int take_line(struct hook_answer *a, char *line)
{
    char *value = strchr(line, ' ');
    int k;
    if (!value)
        return -1;
    *value++ = 0;
    if (!strcmp(line, "state") && (k = one_of(value, states, 3)) >= 0)
        a->state = (enum hook_state)k;
    else if (!strcmp(line, "policy") && (k = one_of(value, policies, 3)) >= 0)
        a->policy = (enum hook_policy)k;
    else if (!strcmp(line, "nodes"))
        return take_number(value, NODES_MAX, &a->nodes);
    else if (!strcmp(line, "mixed"))
        return take_number(value, 1, &a->mixed);
    else if (!strcmp(line, "common"))
        return take_setting(&a->common, value);
    else if (!strcmp(line, "local"))
        return take_setting(&a->local, value);
    else
        return take_word(a, line, value);
    return 0;
}

void hook_answer_clear(struct hook_answer *a)
{
    memset(a, 0, offsetof(struct hook_answer, common));
    a->common.count = a->common.dropped = a->local.count = a->local.dropped = 0;
}

int hook_answer_parse(struct hook_answer *a, char *text, const char *path, struct err *e)
{
    char *line = hook_line(&text);
    hook_answer_clear(a);
    if (!line || strcmp(line, FORMAT) != 0)
        return hook_refuse(e, "%s:1: expected '" FORMAT "'", path);
    for (int number = 2; (line = hook_line(&text)); number++) {
        if (!strcmp(line, "end") && !*text)
            return 0;
        if (take_line(a, line))
            return hook_refuse(e, "%s:%d: not a line of this version", path, number);
    }
    return hook_refuse(e, "%s has no end", path);
}

int hook_answer_read(const char *run, const char *job, struct hook_answer *a, struct err *e)
{
    char path[HOOK_PATH];
    struct hook_file f;
    snprintf(path, sizeof path, "%s/%s", run, job);
    if (access(path, F_OK) && errno == ENOENT)
        return 1;
    if (hook_read(path, 0, ANSWER_BYTES, &f, e))
        return -1;
    int rc = hook_answer_parse(a, f.text, path, e);
    free(f.text);
    return rc;
}
