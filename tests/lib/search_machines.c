/* Published times are those of NCCL's own choice, or of a forced one. What another call would have taken there is that
 * time by the quotient that the model sees between the two; where forced tables are published as well they are taken as
 * they are, and nothing is of the model. */
#include "tests/lib/search_machines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "model/nccl/model.h"
#include "probe/machines/machines.h"
#include "tests/lib/published.h"

#define MOST_MACHINES 96
#define MOST_SIZES    40
#define FEWEST_SIZES  16   /* of a table that is worth it */
#define CACHED        8192 /* a power of two */
#define NODES         2

struct curve {
    int n;
    double bytes[MOST_SIZES], us[MOST_SIZES]; /* ascending */
};

struct forced {
    int algo, proto;
    struct curve curve;
};

struct search_machine {
    char name[96];
    struct model *model; /* NULL: all of it is published */
    unsigned colls;
    struct curve own; /* n 0: the model's */
    struct forced forced[3];
};

static struct search_machine machines[MOST_MACHINES];
static int nmachines = -1;
static struct arena *arena;

/* ---- curves ---- */

static void take_rows(struct curve *c, int run)
{
    for (int i = 0; i < published_nrows; i++) {
        const struct published_row *r = &published_rows[i];
        if (r->run != run || c->n == MOST_SIZES || (c->n && (double)r->call.bytes <= c->bytes[c->n - 1]))
            continue;
        c->bytes[c->n] = (double)r->call.bytes;
        c->us[c->n++] = r->us;
    }
}

/* Between two sizes a straight line of logarithms; beyond them constant below, and in proportion above. */
static double curve_us(const struct curve *c, uint64_t size)
{
    double bytes = (double)size;
    int k = 1;
    if (bytes <= c->bytes[0])
        return c->us[0];
    if (bytes >= c->bytes[c->n - 1])
        return c->us[c->n - 1] * bytes / c->bytes[c->n - 1];
    while (c->bytes[k] < bytes)
        k++;
    double part = log(bytes / c->bytes[k - 1]) / log(c->bytes[k] / c->bytes[k - 1]);
    return c->us[k - 1] * pow(c->us[k] / c->us[k - 1], part);
}

/* ---- the list ---- */

static int find_run(const char *name)
{
    for (int i = 0; i < published_nruns; i++)
        if (!strcmp(published_runs[i].name, name))
            return i;
    return -1;
}

static struct search_machine *add(const char *name, struct model *model, unsigned colls)
{
    struct search_machine *m = &machines[nmachines++];
    *m = (struct search_machine){.model = model, .colls = colls};
    snprintf(m->name, sizeof m->name, "%s", name);
    return m;
}

/* Four L40S: Ring, Tree and LL forced, and NCCL's own. */
static void add_forced(void)
{
    static const struct {
        const char *run;
        int algo, proto;
    } of[] = {{"L40S-4-ring", ALGO_RING, PROTO_SIMPLE},
              {"L40S-4-tree", ALGO_TREE, PROTO_SIMPLE},
              {"L40S-4-LL", ALGO_RING, PROTO_LL}};
    int own = find_run("L40S-4-def");
    if (own < 0)
        return;
    struct search_machine *m = add("L40S-4, forced", NULL, 1u << COLL_ALLREDUCE);
    take_rows(&m->own, own);
    for (int i = 0; i < 3; i++) {
        m->forced[i] = (struct forced){of[i].algo, of[i].proto, {0}};
        take_rows(&m->forced[i].curve, find_run(of[i].run));
    }
}

static void add_published(void)
{
    if (published_read(arena))
        return;
    add_forced();
    for (int i = 0; i < published_nruns && nmachines < MOST_MACHINES; i++) {
        const struct published_run *r = &published_runs[i];
        struct curve own = {0};
        take_rows(&own, i);
        if (own.n >= FEWEST_SIZES && (r->coll == COLL_ALLREDUCE || r->coll == COLL_ALLGATHER) &&
            strncmp(r->name, "L40S-4-", 7) != 0)
            add(r->name, r->model, 1u << r->coll)->own = own;
    }
}

static void add_bundled(void)
{
    const char *name;
    for (int i = 0; (name = machine_name(i)) && nmachines < MOST_MACHINES; i++) {
        struct err e = {0};
        struct topology *t = machine_topology(name, NODES, &e);
        struct model_setup s = {.nccl = {.topology = t, .nodes = NODES}};
        s.nccl.class_index = t ? topo_gpu_class(t) : -1;
        if (s.nccl.class_index < 0)
            continue;
        s.nccl.ranks_per_node = t->classes[s.nccl.class_index].ngpus;
        struct model *m = model_new(&s, arena, &e);
        if (m)
            add(name, m, 1u << COLL_ALLREDUCE | 1u << COLL_ALLGATHER);
    }
}

int search_machines_count(void)
{
    if (nmachines >= 0)
        return nmachines;
    nmachines = 0;
    arena = arena_new();
    add_published();
    add_bundled();
    return nmachines;
}

const struct search_machine *search_machine(int i)
{
    return i < search_machines_count() ? &machines[i] : NULL;
}

const char *search_machine_name(const struct search_machine *m)
{
    return m->name;
}

unsigned search_machine_collectives(const struct search_machine *m)
{
    return m->colls;
}

/* ---- times ---- */

static double model_us(const struct search_machine *m, int coll, int algo, int proto, int channels, uint64_t bytes)
{
    static struct cached {
        const struct search_machine *m;
        int coll, algo, proto, channels;
        uint64_t bytes;
        double us;
    } cache[CACHED];
    uint64_t hash = (bytes * 31 + (uint64_t)(m - machines)) * 31 + (uint64_t)(coll * 64 + algo * 8 + proto + 8);
    struct cached *c = &cache[(hash * 131 + (uint64_t)channels) * 0x9e3779b97f4a7c15ULL >> 51];
    struct cached key = {m, coll, algo, proto, channels, bytes, 0};
    if (c->m == m && c->coll == coll && c->algo == algo && c->proto == proto && c->channels == channels &&
        c->bytes == bytes)
        return c->us;
    struct model_call call = {coll, bytes, algo, proto, channels};
    struct model_time t;
    key.us = model_predict(m->model, &call, &t) || !(t.us > 0) ? -1 : t.us;
    *c = key;
    return key.us;
}

static const struct curve *forced_of(const struct search_machine *m, int algo, int proto)
{
    for (int i = 0; i < 3; i++)
        if (m->forced[i].algo == algo && m->forced[i].proto == proto && m->forced[i].curve.n)
            return &m->forced[i].curve;
    return NULL;
}

double search_machine_us(const struct search_machine *m, int coll, int algo, int proto, int channels, uint64_t bytes)
{
    const struct curve *forced = m->model ? NULL : forced_of(m, algo, proto);
    if (!m->model)
        return forced ? curve_us(forced, bytes) : -1;
    double us = model_us(m, coll, algo, proto, channels, bytes), own = model_us(m, coll, -1, -1, 0, bytes);
    return m->own.n && us > 0 && own > 0 ? us / own * curve_us(&m->own, bytes) : us;
}

/* Published tables do not name the choice: what took nearest to as long. */
double search_machine_predict_us(const struct search_machine *m, int coll, int algo, int proto, uint64_t bytes)
{
    const struct curve *forced = m->model ? NULL : forced_of(m, algo, proto);
    if (m->model)
        return nccl_cost_us(m->model->nccl, coll, algo, proto, bytes);
    return forced ? curve_us(&m->own, bytes) * exp(fabs(log(curve_us(forced, bytes) / curve_us(&m->own, bytes)))) : -1;
}
