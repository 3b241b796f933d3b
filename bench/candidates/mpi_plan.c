/* What the mpi engine can try: OpenMPI's algorithms, as the library lists them, and the interfaces between the nodes.
 */
#include "bench/candidates/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "bench/launch/launch.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/progress.h"

#define DESCRIBE_S 20.0 /* for a process that only loads the library */
#define GRACE_S    1.0

#define INTERFACES "btl_tcp_if_include"

/* ---- algorithms ---- */

/* The variable behind each collective; algorithms that can cut a message into segments, the segments worth trying (0:
 * the whole message), which span what OpenMPI 4.1's own decisions use and slow links want, and how many a message has
 * at least: with fewer than one a rank the segmented ring is the plain one. */
static const struct tunable {
    int coll;
    const char *variable;
    const char *segmented; /* names, with blanks around them */
    uint64_t segments[4];
    int pieces;
} tunables[] = {
    {COLL_ALLREDUCE, "coll_tuned_allreduce_algorithm", " segmented_ring ", {16384, 131072, 1048576}, 4},
    {COLL_ALLGATHER, "coll_tuned_allgather_algorithm", "", {0}, 1},
    {COLL_REDUCESCATTER, "coll_tuned_reduce_scatter_algorithm", "", {0}, 1},
    {COLL_BROADCAST,
     "coll_tuned_bcast_algorithm",
     " chain pipeline split_binary_tree binary_tree ",
     {0, 16384, 131072},
     2},
    {COLL_ALLTOALL, "coll_tuned_alltoall_algorithm", "", {0}, 1},
};
#define TUNABLES (sizeof tunables / sizeof *tunables)

static void add_algorithm(struct bench_plan *p, struct arena *a, const struct tunable *t, const char *name, int value)
{
    char *number = arena_printf(a, "%d", value);
    int segmented = strstr(t->segmented, arena_printf(a, " %s ", name)) != NULL;
    for (size_t i = 0; i < (segmented ? sizeof t->segments / sizeof *t->segments : 1); i++) {
        uint64_t segment = segmented ? t->segments[i] : 0;
        if (segmented && i && !segment)
            break;
        int shift = segment >> 20 ? 20 : 10;
        char *label = segment ? arena_printf(a, "%s/%d%c", name, (int)(segment >> shift), shift == 20 ? 'M' : 'K')
                              : arena_strdup(a, name);
        struct bench_setting *s = arena_alloc(a, 2 * sizeof *s);
        s[0] = (struct bench_setting){t->variable, number};
        s[1] = (struct bench_setting){arena_printf(a, "%s_segmentsize", t->variable),
                                      arena_printf(a, "%llu", (unsigned long long)segment)};
        struct bench_call *c = bench_plan_add_call(p, a, t->coll);
        c->knobs = (struct bench_knobs){label, s, segment ? 2 : 1};
        c->min_bytes = (uint64_t)t->pieces * segment;
    }
}

/* Calls from what the library says it has; algorithm 0 is its own choice. */
static void plan_calls(struct bench_plan *p, struct arena *a, const cJSON *variables)
{
    bench_plan_add_call(p, a, COLL_SENDRECV);
    bench_plan_add_call(p, a, COLL_ALLTOALLV); /* its algorithms are not chosen by size */
    for (size_t i = 0; i < TUNABLES; i++) {
        bench_plan_add_call(p, a, tunables[i].coll);
        const cJSON *value, *values = cJSON_GetObjectItemCaseSensitive(variables, tunables[i].variable);
        cJSON_ArrayForEach(value, values)
        {
            if (cJSON_IsNumber(value) && value->valueint > 0)
                add_algorithm(p, a, &tunables[i], value->string, value->valueint);
        }
    }
}

int mpi_plan_calls(const char *worker, struct bench_plan *p, struct arena *a, struct err *e)
{
    const char *argv[TUNABLES + 3] = {worker, "--describe"};
    for (size_t i = 0; i < TUNABLES; i++)
        argv[i + 2] = tunables[i].variable;
    struct child t;
    char *line, why[BENCH_DETAIL];
    int rc = child_start(&t, argv, NULL, e);
    if (rc)
        return rc;
    cJSON *doc = NULL;
    if (child_next(&t, progress_now_s() + DESCRIBE_S, NULL, &line) == CHILD_LINE)
        doc = json_parse(line, strlen(line), worker, 1, e);
    else {
        child_last_words(&t, why);
        err_set(e, ERR_FAILED, "%s %s", worker, why);
    }
    p->library = arena_strdup(a, json_str(doc, "library", NULL));
    if (doc && !p->library)
        err_set(e, ERR_FAILED, "%s: does not name its library", worker);
    if (p->library)
        plan_calls(p, a, cJSON_GetObjectItemCaseSensitive(doc, "variables"));
    cJSON_Delete(doc);
    child_end(&t, GRACE_S);
    return p->library ? 0 : ERR_FAILED;
}

/* ---- network interfaces ---- */

static void add_interface(struct bench_plan *p, struct arena *a, char *name)
{
    bench_plan_add_launch(p, a, bench_plan_knob(a, name, INTERFACES, name));
}

/* Containers and virtual machines have networks of their own, which end at this host. */
static int is_local_only(const char *name)
{
    static const char *const prefixes[] = {"docker", "virbr", "br-", "cni", "flannel", "cali", "lxc", "veth", "podman"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return 1;
    return 0;
}

static int is_usable(const struct topo_netdev *d)
{
    int kind = d->kind == TOPO_NET_PHYSICAL || d->kind == TOPO_NET_VIRTUAL || d->kind == TOPO_NET_BOND, has_ipv4 = 0;
    for (int i = 0; i < d->naddresses; i++)
        has_ipv4 |= strchr(d->addresses[i], '.') && !strchr(d->addresses[i], ':');
    return kind && d->state == TOPO_STATE_ACTIVE && !d->master && has_ipv4 && !is_local_only(d->name);
}

/* Fast ones first: the search learns early what there is to beat. */
static int by_speed(const void *x, const void *y)
{
    const struct topo_netdev *a = *(const struct topo_netdev *const *)x, *b = *(const struct topo_netdev *const *)y;
    int c = (a->speed_Gbps < b->speed_Gbps) - (a->speed_Gbps > b->speed_Gbps);
    return c ? c : strcmp(a->name, b->name);
}

static void plan_topology_interfaces(struct bench_plan *p, struct arena *a, const struct topology *t)
{
    if (!t || !t->nclasses)
        return;
    const struct topo_class *first = &t->classes[0];
    const struct topo_netdev **usable = arena_alloc(a, (size_t)first->nnetdevs * sizeof(struct topo_netdev *));
    int n = 0;
    for (int i = 0; i < first->nnetdevs; i++) {
        int everywhere = is_usable(&first->netdevs[i]);
        for (int c = 0; c < t->nclasses; c++)
            everywhere &= topo_find_netdev(&t->classes[c], first->netdevs[i].name) != NULL;
        if (everywhere)
            usable[n++] = &first->netdevs[i];
    }
    if (n > 1)
        qsort(usable, (size_t)n, sizeof(struct topo_netdev *), by_speed);
    for (int i = 0; n > 1 && i < n; i++)
        add_interface(p, a, arena_strdup(a, usable[i]->name));
}

static int plan_named_interfaces(struct bench_plan *p, struct arena *a, const char *names, struct err *e)
{
    for (const char *q = names;;) {
        size_t n = strcspn(q, ",");
        if (!n || strcspn(q, " \t/") < n || n > 15)
            return err_set(e, ERR_USAGE, "--interfaces: expected names separated by commas, found '%s'", names);
        add_interface(p, a, arena_strndup(a, q, n));
        if (!q[n])
            return 0;
        q += n + 1;
    }
}

int mpi_plan_launches(const struct bench_setup *s, const char *interfaces, int nodes, struct bench_plan *p,
                      struct arena *a, struct err *e)
{
    bench_plan_add_launch(p, a, (struct bench_knobs){.label = BENCH_DEFAULT});
    if (nodes < 2)
        return 0;
    if (s->mpirun_args && strstr(s->mpirun_args, "btl_tcp_if_")) {
        log_info(s->log, "--mpirun-args sets the network interfaces; others are not tried");
        return 0;
    }
    if (interfaces)
        return plan_named_interfaces(p, a, interfaces, e);
    plan_topology_interfaces(p, a, s->topology);
    return 0;
}

int mpi_plan_combine(const struct bench_knobs *x, const struct bench_knobs *y, struct arena *a,
                     struct bench_knobs *both)
{
    if (x->nsettings != 1 || y->nsettings != 1 || strchr(x->settings->value, ',') || strchr(y->settings->value, ','))
        return 0;
    char *names = arena_printf(a, "%s,%s", x->settings->value, y->settings->value);
    *both = bench_plan_knob(a, names, INTERFACES, names);
    return 1;
}
