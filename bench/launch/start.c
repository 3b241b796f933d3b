/* Launchers that start agents: which one, and what becomes of the commands that run here. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"

struct runner {
    struct proc proc;
    const char *host; /* the node that it is for; NULL: for all */
    struct complaint complaint;
};

struct start {
    const struct start_launcher *launcher;
    struct runner *runners;
    int count;
    struct arena *arena;
};

const char *start_launcher_name(int i)
{
    return i ? start_launchers[i - 1].name : "auto";
}

static const struct start_launcher *choose_launcher(const struct bench_setup *setup, const struct places *where,
                                                    struct arena *a)
{
    const struct start_launcher *l = start_launchers;
    int asked = setup->launcher && strcmp(setup->launcher, "auto") != 0;
    while (l->name && !(asked ? !strcmp(l->name, setup->launcher) : l->suits(setup, where, a)))
        l++;
    return l->name ? l : start_launchers; /* mpirun's word on what is missing is as good as any */
}

int start_is_common(const struct bench_setup *setup)
{
    struct arena *a = arena_new();
    struct places where;
    int common = !places_find(setup, a, &where, NULL) && where.hosts && !choose_launcher(setup, &where, a)->each;
    arena_free(a);
    return common;
}

/* ---- running ---- */

/* Make the command for one node, which gets the same name there. */
static int make_command_for(const char *host, const struct start_launcher *l, const struct bench_setup *setup,
                            const struct start_agent *what, struct arena *a, struct start_command *c, struct err *e)
{
    struct bench_setup one = *setup;
    const struct places where = {.hosts = &host, .nodes = 1, .said = 1};
    struct words argv = {0};
    words_add_all(&argv, a, what->argv);
    words_add_all(&argv, a, (const char *const[]){"--as", host, NULL});
    one.hosts = host;
    one.hostfile = NULL;
    return l->make_command(&one, &where, &(struct start_agent){argv.items, what->env}, a, c, e);
}

static int run_command(struct runner *r, const struct start_command *c, struct err *e)
{
    int rc = proc_spawn(&r->proc, c->argv, (const char *const *)c->env, e);
    if (rc)
        return rc;
    /* Less than a pipe holds; that the command has gone is seen soon enough. */
    if (c->input)
        proc_write(r->proc.in, c->input, strlen(c->input));
    close(r->proc.in);
    r->proc.in = -1;
    fcntl(r->proc.out, F_SETFL, O_NONBLOCK);
    fcntl(r->proc.err, F_SETFL, O_NONBLOCK);
    return 0;
}

struct start *start_open(const struct bench_setup *setup, const struct start_agent *what, int each, struct err *e)
{
    struct arena *a = arena_new();
    struct start *s = ARENA_NEW(a, struct start);
    struct places where;
    s->arena = a;
    int rc = places_find(setup, a, &where, e);
    const struct start_launcher *l = s->launcher = rc ? NULL : choose_launcher(setup, &where, a);
    each |= l && l->each;
    if (l && each && !where.hosts)
        rc = err_set(e, ERR_USAGE, "--launcher %s needs the names of the nodes: --hosts or --hostfile", l->name);
    int n = rc ? 0 : each ? where.nodes : 1;
    s->runners = arena_alloc(a, ((size_t)n + 1) * sizeof *s->runners);
    for (int i = 0; i < n && l && !rc; i++) {
        struct start_command c = {0};
        const char *host = each && where.hosts ? where.hosts[i] : NULL;
        s->runners[i].host = host;
        rc = host ? make_command_for(host, l, setup, what, a, &c, e) : l->make_command(setup, &where, what, a, &c, e);
        rc = rc ? rc : run_command(&s->runners[i], &c, e);
        s->count += !rc;
    }
    if (!rc)
        return s;
    start_close(s, 0);
    return NULL;
}

int start_room(const struct start *s)
{
    return s ? 2 * s->count : 0;
}

int start_pollfds(const struct start *s, struct pollfd *fds, int room)
{
    int n = 0;
    for (int i = 0; s && i < s->count && n + 2 <= room; i++) {
        fds[n++] = (struct pollfd){.fd = s->runners[i].proc.out, .events = POLLIN};
        fds[n++] = (struct pollfd){.fd = s->runners[i].proc.err, .events = POLLIN};
    }
    return n;
}

static void close_at_end(int *fd, int open)
{
    if (!open) {
        close(*fd);
        *fd = -1;
    }
}

void start_listen(struct start *s)
{
    for (int i = 0; s && i < s->count; i++) {
        struct runner *r = &s->runners[i];
        struct complaint banner = {.used = 0};
        if (r->proc.out >= 0)
            close_at_end(&r->proc.out, complaint_read(&banner, r->proc.out));
        if (r->proc.err >= 0)
            close_at_end(&r->proc.err, complaint_read(&r->complaint, r->proc.err));
    }
}

/* ---- the end ---- */

static int has_ended(struct start *s, struct runner *r, double grace_s, char why[BENCH_DETAIL])
{
    char status[PROC_STATUS_TEXT], words[BENCH_DETAIL - PROC_STATUS_TEXT];
    if (!proc_ended(&r->proc, grace_s))
        return 0;
    start_listen(s);
    complaint_text(&r->complaint, words, sizeof words);
    snprintf(why, BENCH_DETAIL, "%s %s%s%.200s", s->launcher->name, proc_status_text(r->proc.status, status),
             *words ? ": " : "", words);
    return 1;
}

int start_node_ended(struct start *s, const char *host, double grace_s, char why[BENCH_DETAIL])
{
    for (int i = 0; s && i < s->count; i++)
        if (s->runners[i].host && !strcmp(s->runners[i].host, host))
            return has_ended(s, &s->runners[i], grace_s, why);
    return 0;
}

int start_ended(struct start *s, char why[BENCH_DETAIL])
{
    char words[BENCH_DETAIL];
    for (int i = 0; s && i < s->count; i++)
        if (has_ended(s, &s->runners[i], 0, words)) {
            const char *host = s->runners[i].host;
            snprintf(why, BENCH_DETAIL, "%.100s%s%.290s", host ? host : "", host ? ": " : "", words);
            return 1;
        }
    return 0;
}

char *start_complaint(const struct start *s, char text[BENCH_DETAIL])
{
    *text = 0;
    for (int i = 0; s && i < s->count && !*text; i++)
        complaint_text(&s->runners[i].complaint, text, BENCH_DETAIL);
    return text;
}

void start_close(struct start *s, double grace_s)
{
    if (!s)
        return;
    for (int i = 0; i < s->count; i++)
        proc_ended(&s->runners[i].proc, i ? 0 : grace_s);
    for (int i = 0; i < s->count; i++)
        proc_stop(&s->runners[i].proc, i ? 0.1 : grace_s);
    arena_free(s->arena);
}
