/* A port's process: opening the port, taking orders. */
#include "bench/engines/verbs/serve.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench/engines/verbs/serve_internal.h"
#include "bench/fabric/fabric.h"
#include "core/units.h"

/* Answers over a working network come within milliseconds, but a lost first packet is sent again after a second. */
#define NET_PATIENCE_S 3.0
#define MOST_PORTS     64

/* ---- what a port is ---------------------------------------------------------------------------------------------- */

/* As its line of the fabric, in which it is port `rail` of node `node`. */
static void tell_port(struct verbs_server *s, const struct verbs_order *o)
{
    struct verbs_fabric_port port = {
        .end = o->mine, .node = s->who.node, .name = s->who.port, .rate_Gbps = s->who.rate_Gbps};
    if (s->port) {
        port.mtu_bytes = verbs_port_mtu_bytes(s->port);
        port.max_mtu_bytes = verbs_port_max_mtu_bytes(s->port);
        port.gids = s->port->gids;
    }
    verbs_serve_line(s, "port", verbs_fabric_json(VERBS_PART_PORT, &port));
}

static void listen_to_nets(struct verbs_server *s)
{
    verbs_net_listen(&s->nets, s->fds);
    connection_send(&s->head, VERBS_NET_LIST, s->rank, &s->nets, sizeof s->nets);
}

static void deafen(struct verbs_server *s)
{
    while (s->nets.n > 0)
        close(s->fds[--s->nets.n]);
}

static void mark_proven(struct verbs_server *s, int gid)
{
    if (s->port && gid >= 0 && gid < s->port->gids.count)
        s->port->gids.gids[gid].proven = 1;
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

static void obey(struct verbs_server *s, const struct verbs_order *o)
{
    struct verbs_answer a = {.verdict = VERBS_GOOD};
    switch (o->what) {
    case VERBS_TRY:
        verbs_serve_try(s, o, &a);
        break;
    case VERBS_SWEEP:
        verbs_serve_sweep(s, o, &a);
        break;
    case VERBS_TRY_GPU:
        verbs_serve_try_gpu(s, o, &a);
        break;
    case VERBS_GPUS:
        verbs_serve_gpus(s, o, &a);
        break;
    case VERBS_PORT:
        tell_port(s, o);
        break;
    case VERBS_PROVEN:
        mark_proven(s, o->number);
        break;
    case VERBS_LISTEN:
        listen_to_nets(s);
        break;
    case VERBS_TRY_NETS:
        verbs_net_try(&s->nets, s->others, s->nothers, NET_PATIENCE_S, a.reached);
        a.count = s->nothers;
        break;
    case VERBS_DEAFEN:
        deafen(s);
        break;
    default:
        a.verdict = VERBS_FAILED;
        snprintf(a.why, sizeof a.why, "%s: unknown order %d", s->who.node, o->what);
    }
    connection_send(&s->head, VERBS_ANSWER, s->rank, &a, sizeof a);
}

/* Until the conductor has gone. */
static void serve(struct verbs_server *s)
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
            obey(s, &o);
        } else if (got && f.head.message == VERBS_NET_LIST && !frame_body(&f, &list, sizeof list)) {
            s->others = arena_grow(s->arena, s->others, (size_t)s->nothers, sizeof *s->others);
            s->others[s->nothers++] = list;
        }
    }
}

/* ---- the start --------------------------------------------------------------------------------------------------- */

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
        return err_set(e, ERR_USAGE, "'%s' is no port such as mlx5_0:1", name);
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

static int prepare(struct verbs_server *s, char **argv, struct err *e)
{
    long nccl, rank, local;
    if (unit_parse_int(argv[2], 0, 1000000, &nccl, "NCCL's version", e) ||
        unit_parse_int(argv[3], 0, 1 << 24, &rank, "a rank", e) ||
        unit_parse_int(argv[4], 0, MOST_PORTS - 1, &local, "a rank on its node", e))
        return ERR_USAGE;
    s->nccl = (int)nccl;
    s->rank = (int)rank;
    s->local = (int)local;
    gethostname(s->who.node, sizeof s->who.node - 1);
    const char *name = pick_port(s->arena, argv[1], s->local);
    return name ? open_port(s, name, e) : 0;
}

int verbs_serve_main(int argc, char **argv)
{
    struct verbs_server s = {.arena = arena_new(), .gpus = -1};
    struct err e = {0};
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int rc = argc == 5 ? prepare(&s, argv, &e)
                       : err_set(&e, ERR_USAGE, "nccltune verbs-port is started by nccltune bench --engine verbs");
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (!rc && (in < 0 || out < 0 || connection_open(&s.head, in, out)))
        rc = err_errno(&e, "its standard streams cannot be used");
    if (rc)
        fprintf(stderr, "nccltune verbs-port: %s\n", e.text);
    else if (!connection_send(&s.head, VERBS_WHO, s.rank, &s.who, sizeof s.who))
        serve(&s);
    verbs_port_close(s.port);
    arena_free(s.arena);
    return rc;
}
