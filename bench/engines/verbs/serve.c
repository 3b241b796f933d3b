/* A port's process: opening the port, taking orders, measuring with another port. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench/engines/verbs/engine.h"
#include "bench/engines/verbs/order.h"
#include "bench/engines/verbs/verbs.h"
#include "bench/fabric/fabric.h"
#include "core/json.h"
#include "core/progress.h"
#include "core/units.h"

/* Answers over a working network come within milliseconds, but a lost first packet is sent again after a second. */
#define NET_PATIENCE_S 3.0
#define MOST_PORTS     64

#define QPS 2

/* Messages large enough for the rate of any link on two queue pairs, small enough for a slow one. */
static const struct verbs_shot full[] = {
    {VERBS_WRITE, 65536, 5, 0.05}, {VERBS_BOTH, 65536, 3, 0.05}, {VERBS_PING, 8, 3, 0.01}, {VERBS_WRITE, 8, 3, 0.01}};
static const struct verbs_shot brief[] = {{VERBS_WRITE, 65536, 3, 0.005}};

struct verbs_server {
    struct connection head;
    int rank, nccl;
    struct arena *arena;
    struct verbs_who who;
    struct verbs_port *port; /* NULL where there is no RDMA, or it cannot be opened */
    struct gpu driver;
    int hip, gpus; /* of the node; -1 not asked yet */
    struct verbs_net_list nets;
    int fds[VERBS_NETS]; /* that listen, as many as nets.n */
    struct verbs_net_list *others;
    int nothers;
};

/* A connection of this port to another's, with the way to it that is not under test: through the conductor. */
struct verbs_link {
    struct verbs_server *server;
    const struct verbs_order *order;
    char mine[160];
    struct verbs_channel channel;
    struct verbs_pair pair;
};

/* ---- the way to another port's process, and to the conductor ---- */

/* The other's word of this turn, if one has come. A late one of an earlier turn is nobody's. */
static int take_word(struct verbs_server *s, int turn, void *theirs, size_t bytes)
{
    struct verbs_swap head;
    struct frame f;
    int got;
    while ((got = connection_next(&s->head, &f)) > 0) {
        if (f.head.message != VERBS_SWAP || f.head.bytes != sizeof head + bytes)
            continue;
        memcpy(&head, f.body, sizeof head);
        if (head.turn != turn)
            continue;
        memcpy(theirs, (const char *)f.body + sizeof head, bytes);
        return 1;
    }
    return got;
}

static int swap_words(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s)
{
    const struct verbs_link *l = user;
    struct verbs_server *s = l->server;
    struct verbs_swap head = {l->order->other, l->order->turn};
    char body[8192];
    int got;
    if (sizeof head + bytes > sizeof body)
        return EMSGSIZE;
    memcpy(body, &head, sizeof head);
    memcpy(body + sizeof head, mine, bytes);
    if (connection_send(&s->head, VERBS_SWAP, s->rank, body, sizeof head + bytes))
        return EPIPE;
    while (!(got = take_word(s, l->order->turn, theirs, bytes))) {
        double left_ms = (deadline_s - progress_now_s()) * 1e3;
        if (left_ms <= 0)
            return ETIMEDOUT;
        if (!connection_wait(&s->head, (int)left_ms + 1))
            return EPIPE;
    }
    return got > 0 ? 0 : EPROTO;
}

/* Connects with the port of the order, whose process does the same at the same time. `setup->port` is the server's.
 * Close the pair in any case. */
static int open_link(struct verbs_link *l, struct verbs_server *s, const struct verbs_order *o,
                     struct verbs_pair_setup setup, struct verbs_attempt *used, struct err *e)
{
    *l = (struct verbs_link){.server = s, .order = o};
    snprintf(l->mine, sizeof l->mine, "%s %s", s->who.node, s->who.port);
    l->channel = (struct verbs_channel){swap_words, l, l->mine, o->theirs};
    if (s->who.failure[0] || o->failure[0])
        return err_set(e, ERR_FAILED, "%s", s->who.failure[0] ? s->who.failure : o->failure);
    if (!s->port)
        return err_set(e, ERR_FAILED, "%s has no port", s->who.node);
    setup.port = s->port;
    return verbs_connect(&l->pair, &setup, &l->channel, o->lead, s->nccl, used, e);
}

/* Sends an object as a line, and frees it. */
static void send_line(struct verbs_server *s, const char *key, cJSON *inner)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToObject(o, key, inner);
    char *line = json_line(o);
    connection_send(&s->head, VERBS_LINE, s->rank, line, strlen(line) + 1);
    free(line);
    cJSON_Delete(o);
}

static void fail_try(struct verbs_answer *a, const char *why)
{
    a->verdict = VERBS_FAILED;
    snprintf(a->why, sizeof a->why, "%.*s", (int)sizeof a->why - 1, why);
}

/* ---- a try ---- */

static double spread_of(const struct verbs_figures *f, int samples)
{
    double least = f->samples_us[0], most = least;
    for (int i = 1; i < samples; i++) {
        least = fmin(least, f->samples_us[i]);
        most = fmax(most, f->samples_us[i]);
    }
    return f->time_us.median > 0 ? (most - least) / f->time_us.median : 0;
}

/* The way back takes as long as the first measurement alone. */
static int measure_pair(struct verbs_pair *pair, const struct verbs_order *o, struct verbs_answer *a, struct err *e)
{
    const struct verbs_shot *shots = o->brief ? brief : full;
    double *const into[] = {&a->GBps, &a->both_GBps, &a->latency_us, &a->messages_per_s};
    const int n = o->brief ? (int)(sizeof brief / sizeof *brief) : (int)(sizeof full / sizeof *full);
    struct verbs_figures f;
    int code = 0;
    for (int i = 0; i < n && !code; i++) {
        code = verbs_measure(pair, &shots[i], o->lead, &f, e);
        if (!code)
            *into[i] = i < 2 ? f.GBps : i == 2 ? f.time_us.median : 1e6 / f.time_us.median;
        if (!code && !i)
            a->spread = spread_of(&f, shots[0].samples);
    }
    if (!code && o->back && !(code = verbs_measure(pair, &shots[0], !o->lead, &f, e))) {
        a->back_GBps = f.GBps;
        a->back_spread = spread_of(&f, shots[0].samples);
    }
    return code;
}

static void try_pair(struct verbs_server *s, const struct verbs_order *o, struct verbs_answer *a)
{
    struct verbs_pair_setup setup = {.qps = QPS, .max_bytes = full[0].bytes, .hasty = o->brief};
    struct verbs_attempt used = {.kind = VERBS_GID_NO_KIND};
    struct verbs_link link;
    struct err e = {0};
    int code = open_link(&link, s, o, setup, &used, &e);
    if (!code && !s->port->gids.infiniband) {
        snprintf(a->gid, sizeof a->gid, "%s", verbs_gid_kind_name(used.kind));
        a->gid_index[0] = used.lead + 1;
        a->gid_index[1] = used.follower + 1;
    }
    if (!code)
        code = measure_pair(&link.pair, o, a, &e);
    verbs_pair_close(&link.pair);
    if (code)
        fail_try(a, e.text);
}

/* ---- GPUs ---- */

static const struct verbs_shot gpu_shot = {VERBS_WRITE, 65536, 5, 0.02};

/* Both ways between this port and its partner's; `gpu` NULL: the memory here is the host's. Both sides write in turn,
 * the owner of the GPU first. */
static int measure_both_ways(struct verbs_server *s, const struct verbs_order *o, struct verbs_gpu *gpu, double GBps[2],
                             struct err *e)
{
    struct verbs_memory memory = {0};
    struct verbs_pair_setup setup = {.qps = QPS, .max_bytes = gpu_shot.bytes};
    struct verbs_attempt used;
    struct verbs_link link;
    struct verbs_figures f;
    if (gpu) {
        memory = verbs_gpu_memory(gpu);
        setup.memory = &memory;
    }
    int code = open_link(&link, s, o, setup, &used, e);
    for (int turn = 0; turn < 2 && !code; turn++) {
        code = verbs_measure(&link.pair, &gpu_shot, o->owns ? !turn : turn, &f, e);
        GBps[turn] = code ? 0 : f.GBps;
    }
    verbs_pair_close(&link.pair);
    return code;
}

/* A side without that GPU lends its host memory. */
static void try_gpu(struct verbs_server *s, const struct verbs_order *o, struct verbs_answer *a)
{
    struct verbs_gpu gpu;
    char why[VERBS_FAILURE_TEXT] = "";
    double GBps[2] = {0};
    struct err e = {0};
    int has = o->owns && o->number < s->gpus && !verbs_gpu_take(&gpu, &s->driver, s->hip, o->number, why);
    measure_both_ways(s, o, has ? &gpu : NULL, GBps, &e);
    if (has)
        snprintf(a->pci, sizeof a->pci, "%s", gpu.pci);
    if (has && GBps[1] > 0) {
        snprintf(a->via, sizeof a->via, "%s", gpu.via);
        a->GBps = GBps[0];
        a->both_GBps = GBps[1];
    } else {
        fail_try(a, *why ? why : e.text);
    }
}

/* ---- orders ---- */

static void obey_order(struct verbs_server *s, const struct verbs_order *o)
{
    struct verbs_answer a = {.verdict = VERBS_GOOD};
    struct verbs_fabric_port port = {
        .end = o->mine, .node = s->who.node, .name = s->who.port, .rate_Gbps = s->who.rate_Gbps};
    switch (o->what) {
    case VERBS_TRY:
        try_pair(s, o, &a);
        break;
    case VERBS_TRY_GPU:
        try_gpu(s, o, &a);
        break;
    case VERBS_GPUS:
        a.count = s->gpus = s->gpus < 0 ? verbs_gpu_load(&s->driver, &s->hip) : s->gpus;
        break;
    case VERBS_PORT: /* its line of the fabric */
        if (s->port) {
            port.mtu_bytes = verbs_mtu_bytes(s->port->attr.active_mtu);
            port.max_mtu_bytes = verbs_mtu_bytes(s->port->attr.max_mtu);
            port.gids = s->port->gids;
        }
        send_line(s, "port", verbs_fabric_json(VERBS_PART_PORT, &port));
        break;
    case VERBS_PROVEN:
        if (s->port && o->number >= 0 && o->number < s->port->gids.count)
            s->port->gids.gids[o->number].proven = 1;
        break;
    case VERBS_LISTEN:
        verbs_net_listen(&s->nets, s->fds);
        connection_send(&s->head, VERBS_NET_LIST, s->rank, &s->nets, sizeof s->nets);
        break;
    case VERBS_TRY_NETS:
        verbs_net_try(&s->nets, s->others, s->nothers, NET_PATIENCE_S, a.reached);
        a.count = s->nothers;
        break;
    case VERBS_DEAFEN:
        while (s->nets.n > 0)
            close(s->fds[--s->nets.n]);
        break;
    default:
        a.verdict = VERBS_FAILED;
        snprintf(a.why, sizeof a.why, "%s: unknown order %d", s->who.node, o->what);
    }
    connection_send(&s->head, VERBS_ANSWER, s->rank, &a, sizeof a);
}

/* Until the conductor has gone. */
static void serve_conductor(struct verbs_server *s)
{
    struct verbs_net_list list;
    struct verbs_order o;
    struct frame f;
    for (;;) {
        int got = connection_next(&s->head, &f);
        if (got < 0 || (!got && !connection_wait(&s->head, -1)))
            return;
        if (got && f.head.message == VERBS_ORDER && !frame_body(&f, &o, sizeof o)) {
            o.theirs[sizeof o.theirs - 1] = o.failure[sizeof o.failure - 1] = 0;
            obey_order(s, &o);
        } else if (got && f.head.message == VERBS_NET_LIST && !frame_body(&f, &list, sizeof list))
            ARENA_ADD(s->arena, s->others, s->nothers) = list;
    }
}

/* ---- the start ---- */

/* Which of the lists is this node's: the first whose devices are all here; else none where a class has none ("-"), else
 * the first. Its port `local`; NULL: no ports, or fewer. */
static const char *pick_port(struct arena *a, const char *lists, int local)
{
    char *copy = arena_strdup(a, lists), *rest = NULL, *picked = NULL, *usual = NULL;
    for (char *list = strtok_r(copy, "/", &rest); list; list = strtok_r(NULL, "/", &rest)) {
        int none = !strcmp(list, "-");
        usual = !usual || none ? list : usual;
        picked = picked || none || !verbs_port_all_here(list) ? picked : list;
    }
    picked = picked ? picked : usual;
    if (!picked || !strcmp(picked, "-") || local >= MOST_PORTS)
        return NULL;
    char *port = strtok_r(picked, ",", &rest);
    for (; port && local > 0; local--)
        port = strtok_r(NULL, ",", &rest);
    return port;
}

/* Opens "mlx5_0:1". That it cannot be opened is no error: every try with it fails for this reason. */
static int open_port(struct verbs_server *s, const char *name, struct err *e)
{
    char hca[80];
    long port;
    struct err why = {0};
    const char *colon = strrchr(name, ':');
    if (!colon || (size_t)(colon - name) >= sizeof hca)
        return err_set(e, ERR_USAGE, "invalid port '%s' (expected e.g. mlx5_0:1)", name);
    snprintf(hca, sizeof hca, "%.*s", (int)(colon - name), name);
    if (unit_parse_int(colon + 1, 1, 255, &port, "a port's number", e))
        return ERR_USAGE;
    s->port = verbs_port_open(s->arena, s->who.node, hca, (int)port, &why);
    snprintf(s->who.port, sizeof s->who.port, "%s", name);
    if (s->port)
        s->who.rate_Gbps = verbs_port_rate_Gbps(s->port);
    else
        snprintf(s->who.failure, sizeof s->who.failure, "%s: %.*s", s->who.node, (int)sizeof s->who.failure - 70,
                 why.text);
    return 0;
}

static int prepare_server(struct verbs_server *s, char **argv, struct err *e)
{
    long nccl, rank, local;
    if (unit_parse_int(argv[2], 0, 1000000, &nccl, "NCCL's version", e) ||
        unit_parse_int(argv[3], 0, 1 << 24, &rank, "a rank", e) ||
        unit_parse_int(argv[4], 0, MOST_PORTS - 1, &local, "a rank on its node", e))
        return ERR_USAGE;
    s->nccl = (int)nccl;
    s->rank = (int)rank;
    gethostname(s->who.node, sizeof s->who.node - 1);
    const char *name = pick_port(s->arena, argv[1], (int)local);
    return name ? open_port(s, name, e) : 0;
}

int verbs_serve_main(int argc, char **argv)
{
    struct verbs_server s = {.arena = arena_new(), .gpus = -1};
    struct err e = {0};
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int rc = argc == 5 ? prepare_server(&s, argv, &e)
                       : err_set(&e, ERR_USAGE, "nccltune verbs-port is started by nccltune bench --engine verbs");
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (!rc && (in < 0 || out < 0 || connection_open(&s.head, in, out)))
        rc = err_errno(&e, "its standard streams cannot be used");
    if (rc)
        fprintf(stderr, "nccltune verbs-port: %s\n", e.text);
    else if (!connection_send(&s.head, VERBS_WHO, s.rank, &s.who, sizeof s.who))
        serve_conductor(&s);
    verbs_port_close(s.port);
    arena_free(s.arena);
    return rc;
}
