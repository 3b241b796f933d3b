/* The worker of the verbs engine. Every rank owns one port and runs the same schedule; the out-of-band way between two
 * ports is MPI. */
#include "bench/worker_verbs.h"

#include <errno.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/verbs_connect.h"
#include "bench/verbs_fabric.h"
#include "bench/verbs_measure.h"
#include "core/json.h"
#include "core/progress.h"
#include "core/units.h"

#define QPS        2
#define PATIENCE_S 60.0
/* Slow tries that are repeated, each alone; with more of them the fabric is at fault, and time matters. */
#define MOST_REPEATED 32

/* Messages large enough for the rate of any link on two queue pairs, small enough for a slow one. */
static const struct verbs_shot full[] = {{VERBS_WRITE, 65536, 5, 0.05, PATIENCE_S},
                                         {VERBS_BOTH, 65536, 3, 0.05, PATIENCE_S},
                                         {VERBS_PING, 8, 3, 0.01, PATIENCE_S},
                                         {VERBS_WRITE, 8, 3, 0.01, PATIENCE_S}};
static const struct verbs_shot brief[] = {{VERBS_WRITE, 65536, 3, 0.005, PATIENCE_S}};

struct who {
    char node[64], port[80];
    double rate_Gbps;
    int node_index, rail;
};

/* What the lead of a try has to tell all others; of fixed size. */
struct tally {
    struct verbs_try pair;
    int tried;
    enum verbs_verdict verdict;
    double GBps, both_GBps, latency_us, messages_per_s;
    char gid[40], why[900];
};

struct worker {
    MPI_Comm comm;
    int rank, ranks, nodes, rails, nccl;
    struct arena *arena;
    struct who *all; /* by rank */
    int *rank_of;    /* by node * rails + rail */
    struct verbs_port *port;
    struct tally *round; /* by rank */
    struct verbs_outcome *outcomes;
    int noutcomes, turn;
};

static const struct who *me(const struct worker *w)
{
    return &w->all[w->rank];
}

static void say(const struct worker *w, cJSON *o)
{
    char *line = w->rank ? NULL : cJSON_PrintUnformatted(o);
    if (line) {
        puts(line);
        fflush(stdout);
        free(line);
    }
    cJSON_Delete(o);
}

static void say_inside(const struct worker *w, const char *key, cJSON *inner)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToObject(o, key, inner);
    say(w, o);
}

/* Waits asleep: others are being measured on these cores. */
static void all_gather(const struct worker *w, const void *mine, void *all, size_t bytes)
{
    MPI_Request request;
    int done = 0;
    MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, w->comm, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* ---- the way to the other side
 * --------------------------------------------------------------------------------------- */

struct partner {
    const struct worker *worker;
    int rank, tag;
};

/* A try has a tag of its own: what a late partner sends afterwards is never taken for something else. Words are far
 * below the size up to which MPI sends eagerly, so that sending does not wait for the other side; receiving does. */
static int mpi_swap(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s)
{
    const struct partner *p = user;
    MPI_Request in, out;
    int received = 0, error = 0;
    MPI_Irecv(theirs, (int)bytes, MPI_BYTE, p->rank, p->tag, p->worker->comm, &in);
    MPI_Isend(mine, (int)bytes, MPI_BYTE, p->rank, p->tag, p->worker->comm, &out);
    for (MPI_Test(&in, &received, MPI_STATUS_IGNORE); !received; MPI_Test(&in, &received, MPI_STATUS_IGNORE)) {
        if (progress_now_s() > deadline_s) {
            MPI_Cancel(&in);
            error = ETIMEDOUT;
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    MPI_Wait(&in, MPI_STATUS_IGNORE);
    MPI_Wait(&out, MPI_STATUS_IGNORE);
    return error;
}

/* ---- one try
 * ---------------------------------------------------------------------------------------------------------- */

static int measure(struct verbs_pair *pair, int brief_only, int lead, struct tally *t, struct err *e)
{
    const struct verbs_shot *shots = brief_only ? brief : full;
    double *const into[] = {&t->GBps, &t->both_GBps, &t->latency_us, &t->messages_per_s};
    int n = brief_only ? (int)(sizeof brief / sizeof *brief) : (int)(sizeof full / sizeof *full);
    for (int i = 0; i < n; i++) {
        struct verbs_figures f;
        int code = verbs_measure(pair, &shots[i], lead, &f, e);
        if (code)
            return code;
        *into[i] = i < 2 ? f.GBps : i == 2 ? f.time_us.median : 1e6 / f.time_us.median;
    }
    return 0;
}

static void label(char text[160], const struct who *who)
{
    snprintf(text, 160, "%s %s", who->node, who->port);
}

/* This rank's part in a try, with the rank `other`. */
static void run_try(struct worker *w, int other, int lead, int brief_only, struct tally *t)
{
    char mine[160], theirs[160];
    struct partner partner = {w, other, w->turn % 30000 + 1};
    label(mine, me(w));
    label(theirs, &w->all[other]);
    struct verbs_channel channel = {mpi_swap, &partner, mine, theirs};
    struct verbs_pair_setup setup = {.port = w->port, .qps = QPS, .max_bytes = full[0].bytes, .patience_s = PATIENCE_S};
    struct verbs_attempt used = {.kind = VERBS_GID_NO_KIND};
    struct verbs_pair pair;
    struct err e = {0};
    int code = verbs_connect(&pair, &setup, &channel, lead, w->nccl, &used, &e);
    if (!code && !w->port->gids.infiniband)
        snprintf(t->gid, sizeof t->gid, "%s", verbs_gid_kind_name(used.kind));
    if (!code)
        code = measure(&pair, brief_only, lead, t, &e);
    verbs_pair_close(&pair);
    t->verdict = code ? VERBS_FAILED : VERBS_GOOD;
    if (code)
        snprintf(t->why, sizeof t->why, "%.*s", (int)sizeof t->why - 1, e.text);
}

/* Makes the outcome number `at` of a try: a new one, or a better one in its place. */
static void keep(struct worker *w, const struct tally *t, int at)
{
    struct verbs_fabric_try one = {.both_GBps = t->both_GBps,
                                   .latency_us = t->latency_us,
                                   .messages_per_s = t->messages_per_s,
                                   .gid = t->gid[0] ? t->gid : NULL};
    one.outcome = (struct verbs_outcome){.pair = t->pair,
                                         .verdict = t->verdict,
                                         .GBps = t->GBps,
                                         .why = t->why[0] ? arena_strdup(w->arena, t->why) : NULL};
    if (at < w->noutcomes && (t->verdict != VERBS_GOOD || t->GBps <= w->outcomes[at].GBps))
        return;
    const char *key = at < w->noutcomes ? "again" : "try";
    if (at == w->noutcomes)
        w->outcomes = arena_grow(w->arena, w->outcomes, (size_t)w->noutcomes++, sizeof *w->outcomes);
    w->outcomes[at] = one.outcome;
    say_inside(w, key, verbs_fabric_try_json(&one));
}

/* All tries of a round at once; whoever has none waits. Afterwards every rank knows all outcomes. They are new ones
 * from number `at` on, or `at` is the one outcome that the round's one try repeats. */
static void run_round(struct worker *w, const struct verbs_round *r, int brief_only, int at)
{
    struct tally mine = {.tried = 0};
    w->turn++;
    for (int i = 0; i < r->ntries; i++) {
        const struct verbs_try *t = &r->tries[i];
        int from = w->rank_of[t->from.node * w->rails + t->from.rail];
        int to = w->rank_of[t->to.node * w->rails + t->to.rail];
        if (w->rank != from && w->rank != to)
            continue;
        mine.pair = *t;
        mine.tried = w->rank == from;
        run_try(w, w->rank == from ? to : from, w->rank == from, brief_only, &mine);
    }
    all_gather(w, &mine, w->round, sizeof mine);
    for (int i = 0; i < w->ranks; i++)
        if (w->round[i].tried)
            keep(w, &w->round[i], at++);
}

static void run_schedule(struct worker *w, const struct verbs_schedule *s, int brief_only, int done, int of)
{
    for (int i = 0; i < s->nrounds; i++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddNumberToObject(o, "round", done + i + 1);
        cJSON_AddNumberToObject(o, "of", of);
        say(w, o);
        run_round(w, &s->rounds[i], brief_only, w->noutcomes);
    }
}

static struct verbs_outcome *judge(struct worker *w)
{
    struct verbs_outcome *judged = arena_alloc(w->arena, ((size_t)w->noutcomes + 1) * sizeof *judged);
    memcpy(judged, w->outcomes, (size_t)w->noutcomes * sizeof *judged);
    verbs_mark_slow(judged, w->noutcomes, VERBS_SLOW_RATIO);
    return judged;
}

/* Who was slow among others is tried again alone, and its better result counts: others may have been in its way, or the
 * machine busy for a moment. */
static void repeat_slow(struct worker *w)
{
    const struct verbs_outcome *judged = judge(w);
    int n = w->noutcomes, repeated = 0;
    for (int i = 0; i < n && repeated < MOST_REPEATED; i++) {
        struct verbs_try pair = judged[i].pair;
        const struct verbs_round alone = {&pair, 1};
        if (judged[i].verdict != VERBS_SLOW)
            continue;
        run_round(w, &alone, 0, i);
        repeated++;
    }
}

/* Tries that tell suspects apart, until there is no doubt or nothing left to try. */
static void resolve(struct worker *w)
{
    for (int i = 0; i < w->nodes; i++) {
        struct verbs_suspect *suspects;
        const struct verbs_outcome *judged = judge(w);
        int n = verbs_blame(judged, w->noutcomes, w->arena, &suspects);
        struct verbs_round next = verbs_blame_next(judged, w->noutcomes, suspects, n, w->arena);
        if (!next.ntries)
            return;
        run_round(w, &next, 0, w->noutcomes);
    }
}

/* ---- start and end
 * ------------------------------------------------------------------------------------------------------ */

/* Who is where: ranks of one node in the order of its ports. */
static int find_places(struct worker *w, struct who *mine, int nports, struct err *e)
{
    MPI_Comm node;
    int leader = w->rank, smallest, local, on_node;
    MPI_Comm_split_type(w->comm, MPI_COMM_TYPE_SHARED, w->rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    MPI_Comm_size(node, &on_node);
    MPI_Allreduce(&leader, &smallest, 1, MPI_INT, MPI_MIN, node);
    MPI_Comm_free(&node);
    int *leaders = arena_alloc(w->arena, (size_t)w->ranks * sizeof *leaders);
    MPI_Allgather(&smallest, 1, MPI_INT, leaders, 1, MPI_INT, w->comm);
    mine->rail = local;
    for (int i = 0; i < w->ranks; i++) {
        w->nodes += leaders[i] == i;
        mine->node_index += i < smallest && leaders[i] == i;
    }
    w->rails = nports;
    int wrong = on_node != nports, any;
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, w->comm);
    return any ? err_set(e, ERR_USAGE, "there must be one rank for each of a node's %d ports on every node", nports)
               : 0;
}

/* Opens "mlx5_0:1" as this rank's port. */
static int open_port(struct worker *w, struct who *mine, const char *name, struct err *e)
{
    char hca[80];
    long port;
    const char *colon = strrchr(name, ':');
    if (!colon || (size_t)(colon - name) >= sizeof hca)
        return err_set(e, ERR_USAGE, "'%s' is no port such as mlx5_0:1", name);
    snprintf(hca, sizeof hca, "%.*s", (int)(colon - name), name);
    if (unit_parse_int(colon + 1, 1, 255, &port, "a port's number", e))
        return ERR_USAGE;
    w->port = verbs_port_open(w->arena, mine->node, hca, (int)port, e);
    if (!w->port)
        return e->code;
    snprintf(mine->port, sizeof mine->port, "%s", w->port->name);
    mine->rate_Gbps = verbs_port_rate_Gbps(w->port);
    return 0;
}

/* Whether all ranks are well; the first unlucky one's sentence on all of them otherwise. */
static int all_well(struct worker *w, int code, struct err *e)
{
    int mine = code ? w->rank : w->ranks, first;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, w->comm);
    if (first == w->ranks)
        return 0;
    MPI_Bcast(e, sizeof *e, MPI_BYTE, first, w->comm);
    return e->code ? e->code : ERR_FAILED;
}

/* A port's GIDs travel as its line of the fabric: rank 0 asks for one after the other. */
static void tell_ports(struct worker *w)
{
    struct verbs_fabric *f = verbs_fabric_new(w->nodes, w->rails);
    int slot = me(w)->node_index * w->rails + me(w)->rail, length = 0;
    f->ports[slot] = (struct verbs_fabric_port){me(w)->node, me(w)->port, me(w)->rate_Gbps, w->port->gids};
    cJSON *o = verbs_fabric_port_json(f, slot);
    char *line = cJSON_PrintUnformatted(o);
    if (w->rank) {
        length = (int)strlen(line) + 1;
        MPI_Send(&length, 1, MPI_INT, 0, 0, w->comm);
        MPI_Send(line, length, MPI_CHAR, 0, 0, w->comm);
    }
    for (int i = 0; !w->rank && i < w->ranks; i++) {
        char *text = line;
        if (i) {
            MPI_Recv(&length, 1, MPI_INT, i, 0, w->comm, MPI_STATUS_IGNORE);
            text = arena_alloc(w->arena, (size_t)length + 1);
            MPI_Recv(text, length, MPI_CHAR, i, 0, w->comm, MPI_STATUS_IGNORE);
        }
        say_inside(w, "port", cJSON_Parse(text));
    }
    free(line);
    cJSON_Delete(o);
    verbs_fabric_free(f);
}

static int prepare(struct worker *w, int argc, char **argv, struct err *e)
{
    struct who mine = {.node_index = 0};
    const char *ports[64];
    int nports = 0;
    long nccl = 0;
    if (argc != 3 || unit_parse_int(argv[1], 0, 1000000, &nccl, "NCCL's version", e))
        return err_set(e, ERR_USAGE, "nccltune-bench --verbs PORTS NCCL SCHEDULE is started by nccltune bench");
    char *list = arena_strdup(w->arena, argv[0]), *rest = NULL;
    for (char *p = strtok_r(list, ",", &rest); p && nports < 64; p = strtok_r(NULL, ",", &rest))
        ports[nports++] = p;
    w->nccl = (int)nccl;
    gethostname(mine.node, sizeof mine.node - 1);
    int code = find_places(w, &mine, nports, e);
    if (code)
        return code;
    code = open_port(w, &mine, ports[mine.rail], e);
    if (code) {
        struct err inner = *e;
        err_set(e, code, "%s: %s", mine.node, inner.text);
    }
    code = all_well(w, code, e);
    if (code)
        return code;
    w->all = arena_alloc(w->arena, (size_t)w->ranks * sizeof *w->all);
    w->round = arena_alloc(w->arena, (size_t)w->ranks * sizeof *w->round);
    w->rank_of = arena_alloc(w->arena, (size_t)w->ranks * sizeof *w->rank_of);
    all_gather(w, &mine, w->all, sizeof mine);
    for (int i = 0; i < w->ranks; i++)
        w->rank_of[w->all[i].node_index * w->rails + w->all[i].rail] = i;
    return 0;
}

static int run_all(struct worker *w, const char *name, struct err *e)
{
    static const struct {
        const char *name;
        enum verbs_plan plan, then; /* `then` briefly, unless it is the same */
    } plans[] = {{"rails", VERBS_PLAN_RAILS, VERBS_PLAN_CROSS},
                 {"reach", VERBS_PLAN_RAILS, VERBS_PLAN_REACH},
                 {"matrix", VERBS_PLAN_MATRIX, VERBS_PLAN_MATRIX}};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        if (strcmp(plans[i].name, name) != 0)
            continue;
        const struct verbs_schedule *first = verbs_schedule_make(w->arena, plans[i].plan, w->nodes, w->rails);
        const struct verbs_schedule *then = verbs_schedule_make(w->arena, plans[i].then, w->nodes, w->rails);
        int rest = plans[i].then == plans[i].plan ? 0 : then->nrounds;
        run_schedule(w, first, 0, 0, first->nrounds + rest);
        if (rest)
            run_schedule(w, then, 1, first->nrounds, first->nrounds + rest);
        repeat_slow(w);
        resolve(w);
        tell_ports(w);
        return 0;
    }
    return err_set(e, ERR_USAGE, "'%s' is no schedule: rails, reach, matrix", name);
}

int worker_verbs(int argc, char **argv)
{
    struct worker w = {.arena = arena_new()};
    struct err e = {0};
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &w.comm);
    MPI_Comm_rank(w.comm, &w.rank);
    MPI_Comm_size(w.comm, &w.ranks);
    int code = prepare(&w, argc, argv, &e);
    if (!code) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddNumberToObject(o, "nodes", w.nodes);
        cJSON_AddNumberToObject(o, "rails", w.rails);
        say(&w, o);
        code = run_all(&w, argv[2], &e);
    }
    say_inside(&w, code ? "error" : "done", code ? cJSON_CreateString(e.text) : cJSON_CreateTrue());
    verbs_port_close(w.port);
    MPI_Comm_free(&w.comm);
    MPI_Finalize();
    arena_free(w.arena);
    return code;
}
