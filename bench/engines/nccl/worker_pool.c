/* The pool: questions to all ranks at once, and what happens when somebody does not answer. */
#include "bench/engines/nccl/worker_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/candidates/engine.h"
#include "bench/launch/agents.h"
#include "bench/noise/noise.h"
#include "core/call/result.h"
#include "core/progress.h"
#include "core/vars/catalogue.h"
#include "probe/topology/topology.h"

#define KILL_S       3.0 /* for an agent to report that its workers are gone; then it is given up */
#define GOODBYE_S    2.0 /* for NCCL to close its connections */
#define STRAGGLERS_S 2.0 /* for the other ranks to refuse too, once one has */
#define SIGNS_S      5.0 /* for a node to tell its condition: a driver that hangs tells nothing */

struct nccl_pool {
    struct agents agents;
    const struct bench_setup *setup;
    const struct nccl_options *own;
    struct arena *arena;
    const char **prefix; /* NULL-terminated */
    int ranks_per_node, ranks;
    int running; /* workers, on all nodes together; 0 none */
    char *seen;  /* by rank: has answered the question on its way */
    int watched; /* the signs of nodes are being kept */
    char last[NCCL_TEXT];
    enum bench_outcome ended; /* BENCH_ANSWERED: they run, or were stopped in order; else how they ended, */
    char why[BENCH_DETAIL];   /* and why, for all who ask */
};

/* ---- opening ---- */

static int is_here(const struct agent *agent)
{
    char host[AGENTS_HOST] = "";
    gethostname(host, sizeof host - 1);
    return !strcmp(agent->host, host);
}

void nccl_pool_noise(struct nccl_pool *t, struct findings *found)
{
    nccl_pool_stop(t, 1);
    struct agents_answer *said =
        t->watched ? agents_end_beside(&t->agents, progress_now_s() + SIGNS_S, found->arena, NULL) : NULL;
    t->watched = 0;
    for (int m = 0; said && m < t->agents.count; m++)
        if (!is_here(&t->agents.items[m]))
            noise_of_node(t->agents.items[m].host, said[m].output, found);
}

struct nccl_pool *nccl_pool_open(const struct bench_setup *setup, const struct nccl_options *own, double patience_s,
                                 volatile sig_atomic_t *stop, struct err *e)
{
    struct arena *a = arena_new();
    struct nccl_pool *t = ARENA_NEW(a, struct nccl_pool);
    int nwords;
    *t = (struct nccl_pool){.setup = setup, .own = own, .arena = a, .ranks_per_node = setup->ranks_per_node};
    t->prefix = proc_split(own->launch_prefix ? own->launch_prefix : "", a, &nwords, e);
    if (!t->prefix || agents_open(&t->agents, setup, patience_s, stop, e)) {
        arena_free(a);
        return NULL;
    }
    /* Other nodes' condition is read there, from before the first launch on. */
    static const char *const argv[] = {"{self}", "signs", NULL};
    for (int m = 0; m < t->agents.count && !t->watched; m++)
        t->watched = !is_here(&t->agents.items[m]);
    if (t->watched && agents_begin_beside(&t->agents, argv, e)) {
        nccl_pool_close(t);
        return NULL;
    }
    return t;
}

void nccl_pool_close(struct nccl_pool *t)
{
    if (!t)
        return;
    nccl_pool_stop(t, 1);
    agents_close(&t->agents);
    arena_free(t->arena);
}

int nccl_pool_nodes(const struct nccl_pool *t)
{
    return t->agents.count;
}

int nccl_pool_ranks(const struct nccl_pool *t)
{
    return t->ranks;
}

/* The nodes that are gone, by name. */
int nccl_pool_broken(const struct nccl_pool *t, char detail[BENCH_DETAIL])
{
    if (!t->agents.lost || !detail)
        return t->agents.lost > 0;
    int used = snprintf(detail, BENCH_DETAIL, "lost the agent on"), named = 0;
    for (int m = 0; m < t->agents.count && used < BENCH_DETAIL - 100; m++)
        if (t->agents.items[m].lost)
            used += snprintf(detail + used, (size_t)(BENCH_DETAIL - used), "%s %s", named++ ? "," : "",
                             t->agents.items[m].host);
    snprintf(detail + used, (size_t)(BENCH_DETAIL - used), "%s", named < t->agents.lost ? " and others" : "");
    return 1;
}

/* ---- stopping ---- */

static void keep_last_words(void *user, const char *last)
{
    struct nccl_pool *t = user;
    if (!*t->last || strstr(last, "NCCL WARN"))
        snprintf(t->last, sizeof t->last, "%s", last);
}

/* Counts workers that end by themselves. */
static int hear_goodbye(void *user, int agent, const struct frame *f)
{
    struct nccl_pool *t = user;
    struct agent_ended ended;
    (void)agent;
    if (f->head.message != AGENT_ENDED || f->head.rank == AGENT_BESIDE || frame_body(f, &ended, sizeof ended))
        return 0;
    ended.last[sizeof ended.last - 1] = 0;
    if (*ended.last)
        keep_last_words(t, ended.last);
    return --t->running <= 0;
}

void nccl_pool_stop(struct nccl_pool *t, int kill)
{
    int lost;
    double deadline = progress_now_s() + GOODBYE_S;
    t->last[0] = 0;
    if (!t->running)
        return;
    if (!kill) {
        agents_send(&t->agents, -1, NCCL_QUIT, AGENT_ALL, NULL, 0);
        agents_wait(&t->agents, &deadline, NULL, hear_goodbye, t, &lost);
    }
    /* Also after a good end: the answer says that nothing of this launch is still on its way. */
    agents_kill(&t->agents, KILL_S, keep_last_words, t);
    t->running = 0;
}

/* ---- asking ---- */

/* A question on its way. */
struct hearing {
    struct nccl_pool *pool;
    struct nccl_question *question;
    int count, answered, ended; /* ranks that are asked; those that have answered; one has ended instead */
    double began_s;
    char *detail;
};

static int hear_answer(void *user, int m, const struct frame *f)
{
    struct hearing *h = user;
    struct nccl_question *q = h->question;
    struct nccl_text text;
    struct agent_ended ended;
    int rank = f->head.rank;
    if (f->head.message == AGENT_ENDED && rank != AGENT_BESIDE && !frame_body(f, &ended, sizeof ended)) {
        char status[PROC_STATUS_TEXT] = "did not start";
        if (ended.status != -1)
            proc_status_text(ended.status, status);
        ended.last[sizeof ended.last - 1] = 0;
        snprintf(h->detail, BENCH_DETAIL, "rank %d on %s %s%s%.300s", rank, h->pool->agents.items[m].host, status,
                 *ended.last ? ": " : "", ended.last);
        h->ended = 1;
        return 1;
    }
    if (rank < 0 || rank >= h->count || h->pool->seen[rank])
        return 0;
    if (f->head.message == NCCL_ERROR && !frame_body(f, &text, sizeof text)) {
        text.text[sizeof text.text - 1] = 0;
        if (!q->refusals++) {
            snprintf(h->detail, BENCH_DETAIL, "%.390s", text.text);
            double soon = progress_now_s() + STRAGGLERS_S;
            if (soon < q->deadline_s)
                q->deadline_s = soon;
        }
    } else if (f->head.message == q->wanted && f->head.bytes == q->bytes) {
        if (q->bytes)
            memcpy((char *)q->answers + (size_t)rank * q->bytes, f->body, q->bytes);
        /* A rank counts as hung after twice the time that the others took. */
        double twice_s = 2 * progress_now_s() - h->began_s;
        twice_s = q->last_s > 0 && q->last_s < twice_s ? q->last_s : twice_s;
        if (q->deadline_s < twice_s && !q->refusals)
            q->deadline_s = twice_s;
    } else {
        return 0;
    }
    h->pool->seen[rank] = 1;
    return ++h->answered == h->count;
}

static void name_silent_ranks(const struct hearing *h, char detail[BENCH_DETAIL])
{
    int used = snprintf(detail, BENCH_DETAIL, "no answer in time from rank"), named = 0;
    for (int r = 0; r < h->count && used < BENCH_DETAIL - 32; r++)
        if (!h->pool->seen[r] && named++ < 8)
            used += snprintf(detail + used, (size_t)(BENCH_DETAIL - used), "%s %d", named > 1 ? "," : "", r);
    if (named > 8)
        snprintf(detail + used, (size_t)(BENCH_DETAIL - used), " and %d more", named - 8);
}

static void add_last_words(const struct nccl_pool *t, char detail[BENCH_DETAIL])
{
    size_t used = strlen(detail);
    if (*t->last && !strstr(detail, t->last) && used + 8 < BENCH_DETAIL)
        snprintf(detail + used, BENCH_DETAIL - used, ": %.*s", (int)(BENCH_DETAIL - used - 3), t->last);
}

/* Kill what is left of a launch of which no answer came, and keep the reason for all later questions. */
static enum bench_outcome give_up_launch(struct hearing *h, int silent)
{
    struct nccl_pool *t = h->pool;
    if (silent)
        name_silent_ranks(h, h->detail);
    nccl_pool_stop(t, 1);
    add_last_words(t, h->detail);
    t->ended = nccl_pool_broken(t, h->detail) ? BENCH_LOST : silent ? BENCH_SILENT : BENCH_DIED;
    memcpy(t->why, h->detail, sizeof t->why);
    return t->ended;
}

enum bench_outcome nccl_pool_ask(struct nccl_pool *t, struct nccl_question *q, volatile sig_atomic_t *stop,
                                 char detail[BENCH_DETAIL])
{
    if (t->ended || nccl_pool_broken(t, detail)) {
        if (t->ended)
            memcpy(detail, t->why, sizeof t->why);
        return t->ended ? t->ended : BENCH_LOST;
    }
    struct hearing h = {t, q, .count = q->first_alone ? 1 : t->running, .began_s = progress_now_s(), .detail = detail};
    int lost = 0;
    memset(t->seen, 0, (size_t)t->running);
    q->refusals = 0;
    *detail = 0;
    if (q->message)
        agents_send(&t->agents, -1, q->message, q->first_alone ? 0 : AGENT_ALL, q->body, q->body_bytes);
    enum agents_event event = agents_wait(&t->agents, &q->deadline_s, stop, hear_answer, &h, &lost);
    if (event == AGENTS_STOPPED)
        return BENCH_STOPPED;
    if (event == AGENTS_ENOUGH && !h.ended && (!q->refusals || q->refusals == h.count))
        return BENCH_ANSWERED;
    return give_up_launch(&h, event == AGENTS_LATE && !q->refusals);
}

/* ---- starting ---- */

static const char *const *settings_of(const struct nccl_pool *t, const struct nccl_start *start, int member,
                                      struct arena *a)
{
    struct words w = {0};
    const struct topology *topology = t->setup->topology;
    int host = topology ? topo_find_host(topology, t->agents.items[member].host) : -1;
    const char *class = host < 0 ? NULL : topology->classes[topology->hosts[host].class_index].name;
    const char *tuner = getenv("NCCL_TUNER_PLUGIN");
    if (!start->site)
        inherit_clear(&w, a);
    if (!getenv("NCCL_DEBUG"))
        words_add(&w, a, "NCCL_DEBUG=WARN");
    /* what jobs run under is asked first here, too */
    if (tuner && *tuner && !getenv("NCCLTUNE_NEXT_TUNER"))
        words_add(&w, a, arena_printf(a, "NCCLTUNE_NEXT_TUNER=%s", tuner));
    if (start->plugin)
        words_add(&w, a, arena_printf(a, "NCCL_TUNER_PLUGIN=%s", start->plugin));
    for (int i = 0; i < start->nsettings; i++)
        if (bench_is_for(start->settings[i].name, class))
            words_add(&w, a,
                      arena_printf(a, "%s=%s", bench_plain_name(start->settings[i].name, a), start->settings[i].value));
    if (t->own->share_gpus) /* ranks on one GPU count as nodes of their own */
        words_add(&w, a, "NCCL_HOSTID={host}-{local}");
    return w.items;
}

static const char *const *command_of(const struct nccl_pool *t, struct arena *a)
{
    const char *worker[] = {"{self}", "rank", "{rank}", "{local}", "--nccl-lib", t->own->library, NULL};
    struct words w = {0};
    if (!t->own->library)
        worker[4] = NULL;
    words_add_all(&w, a, t->prefix);
    words_add_all(&w, a, worker);
    return w.items;
}

/* Has every agent start `per_node` workers. */
static int spawn_workers(struct nccl_pool *t, const struct nccl_start *start, int per_node, struct err *e)
{
    struct arena *a = arena_new();
    struct agents_order o = {.argv = command_of(t, a), .copies = per_node, .frames = 1};
    int too_long = 0;
    for (int m = 0; m < t->agents.count && !too_long; m++) {
        o.settings = settings_of(t, start, m, a);
        too_long = agents_start(&t->agents, m, &o, m * per_node);
    }
    t->running = t->agents.count * per_node;
    t->seen = arena_alloc(t->arena, (size_t)t->running);
    t->ended = BENCH_ANSWERED;
    arena_free(a);
    return !too_long ? 0 : err_set(e, ERR_FAILED, "the settings of this launch are too long for an agent");
}

static int outcome_error(enum bench_outcome outcome, int refused, const char *detail, struct err *e)
{
    if (outcome == BENCH_ANSWERED && !refused)
        return 0;
    if (outcome == BENCH_LOST)
        return err_set(e, BENCH_NODES_LOST, "%s", detail);
    return err_set(e, refused ? ERR_LACKS : ERR_FAILED, "%s", outcome == BENCH_STOPPED ? "interrupted" : detail);
}

/* Starts workers and collects their first messages. */
static int spawn_and_greet(struct nccl_pool *t, const struct nccl_start *start, int per_node, struct nccl_hello *hellos,
                           double deadline_s, volatile sig_atomic_t *stop, struct err *e)
{
    char detail[BENCH_DETAIL] = "";
    struct nccl_question q = {
        .wanted = NCCL_HELLO, .answers = hellos, .bytes = sizeof *hellos, .deadline_s = deadline_s};
    nccl_pool_stop(t, 1);
    if (spawn_workers(t, start, per_node, e))
        return ERR_FAILED;
    enum bench_outcome outcome = nccl_pool_ask(t, &q, stop, detail);
    return outcome_error(outcome, q.refusals, detail, e);
}

static int compare_hellos(struct nccl_pool *t, const struct nccl_hello *h, struct err *e)
{
    char ours[ENV_VERSION], theirs[ENV_VERSION];
    for (int r = 1; r < t->agents.count; r++)
        if (h[r].version != h[0].version || h[r].rccl != h[0].rccl)
            return err_set(e, ERR_FAILED, "%s has %s %s (%s), %s has %s%s (%s): all nodes need the same",
                           t->agents.items[0].host, h[0].rccl ? "RCCL" : "NCCL", env_version_text(ours, h[0].version),
                           h[0].path, t->agents.items[r].host,
                           h[r].rccl == h[0].rccl ? ""
                           : h[r].rccl            ? "RCCL "
                                                  : "NCCL ",
                           env_version_text(theirs, h[r].version), h[r].path);
    return 0;
}

int nccl_pool_look(struct nccl_pool *t, struct nccl_hello *hello, double patience_s, volatile sig_atomic_t *stop,
                   struct err *e)
{
    struct nccl_hello *all = arena_alloc(t->arena, (size_t)t->agents.count * sizeof *all);
    struct nccl_start plain = {0};
    int rc = spawn_and_greet(t, &plain, 1, all, progress_now_s() + patience_s, stop, e);
    if (!rc)
        rc = compare_hellos(t, all, e);
    int fewest = 0;
    for (int m = 1; !rc && m < t->agents.count; m++)
        fewest = all[m].gpus < all[fewest].gpus ? m : fewest;
    int gpus = rc ? 0 : all[fewest].gpus;
    if (!rc && !t->ranks_per_node)
        t->ranks_per_node = gpus;
    if (!rc && gpus < 1)
        rc = err_set(e, ERR_LACKS, "%s: the driver shows no GPU", t->agents.items[fewest].host);
    else if (!rc && gpus < t->ranks_per_node && !t->own->share_gpus)
        rc =
            err_set(e, ERR_LACKS, "%s has %d GPUs for %d ranks", t->agents.items[fewest].host, gpus, t->ranks_per_node);
    t->ranks = t->ranks_per_node * t->agents.count;
    if (!rc && t->ranks < 2)
        rc = err_set(e, ERR_LACKS, "one GPU alone cannot communicate");
    if (!rc)
        *hello = all[0];
    nccl_pool_stop(t, 1);
    return rc;
}

/* Rank 0's unique id, and everybody into one communicator. */
static int join_ranks(struct nccl_pool *t, const struct nccl_start *start, struct nccl_joined *joined,
                      double deadline_s, volatile sig_atomic_t *stop, struct err *e)
{
    char detail[BENCH_DETAIL] = "";
    struct nccl_join j = {.nranks = t->ranks, .control = start->control};
    for (int i = 0; i < start->nsettings; i++)
        j.table |= !strcmp(start->settings[i].name, "NCCLTUNE_PROFILE");
    struct nccl_question name = {.message = NCCL_NAME,
                                 .wanted = NCCL_NAMED,
                                 .answers = j.id,
                                 .bytes = sizeof j.id,
                                 .first_alone = 1,
                                 .deadline_s = deadline_s};
    enum bench_outcome outcome = nccl_pool_ask(t, &name, stop, detail);
    int rc = outcome_error(outcome, name.refusals, detail, e);
    if (rc)
        return rc;
    struct arena *a = arena_new();
    struct nccl_joined *all = arena_alloc(a, (size_t)t->ranks * sizeof *all);
    struct nccl_question join = {.message = NCCL_JOIN,
                                 .body = &j,
                                 .body_bytes = sizeof j,
                                 .wanted = NCCL_JOINED,
                                 .answers = all,
                                 .bytes = sizeof *all,
                                 .deadline_s = name.deadline_s};
    outcome = nccl_pool_ask(t, &join, stop, detail);
    rc = outcome_error(outcome, join.refusals, detail, e);
    if (!rc)
        *joined = all[0];
    for (int r = 1; !rc && r < t->ranks; r++)
        joined->free = all[r].free < joined->free ? all[r].free : joined->free;
    arena_free(a);
    return rc;
}

int nccl_pool_start(struct nccl_pool *t, const struct nccl_start *s, struct nccl_joined *joined, double patience_s,
                    volatile sig_atomic_t *stop, struct err *e)
{
    double began_s = progress_now_s(), deadline_s = began_s + patience_s;
    struct arena *a = arena_new();
    struct nccl_hello *hellos = arena_alloc(a, (size_t)t->ranks * sizeof *hellos);
    int rc = spawn_and_greet(t, s, t->ranks_per_node, hellos, deadline_s, stop, e);
    double now_s = progress_now_s(), twice_s = 2 * now_s - began_s; /* who started late may be late again */
    if (!rc)
        rc = join_ranks(t, s, joined, deadline_s < twice_s ? twice_s : deadline_s, stop, e);
    if (rc)
        nccl_pool_stop(t, 1);
    arena_free(a);
    return rc;
}
