/* published.csv has a line a result, with names of its own for machines; more.csv is told in our words already. */
#include "tests/lib/published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/predict/nccl/cost.h"
#include "probe/machines/machines.h"

enum { MOST_FIELDS = 17, MOST_LINE = 4096 };

struct published_run published_runs[PUBLISHED_RUNS];
struct published_row published_rows[PUBLISHED_MOST];
int published_nruns, published_nrows;

/* The published machines as the bundled ones: the beginning of the name, the first that fits. */
static const struct mapping {
    const char *published, *machine;
    int sockets;
    int algo; /* NCCL_ALGO in the published recipe of the run; -1 none */
} machines[] = {
    {"Azure AKS IPoIB", "azure-ndv4", 1, -1},
    {"Azure ", "azure-ndv4", 0, -1},
    {"GCP a3-highgpu", "gcp-a3-high", 0, -1},
    {"GCP a3-megagpu", "gcp-a3-mega", 0, -1},
    {"GCP a3-ultragpu", "gcp-a3-ultra", 0, -1},
    {"AWS p4de", "aws-p4de", 0, -1},
    {"AWS p4d", "aws-p4d", 0, ALGO_RING},
    {"AWS p5", "aws-p5", 0, -1},
    {"DGX H100", "dgx-h100", 0, -1},
    {"OCI BM.GPU.H100", "oci-h100", 0, -1},
};

static void end(const char *what, const char *which)
{
    fprintf(stderr, "%s: %s\n", which, what);
    exit(1);
}

static const char *corpus(void)
{
    const char *own = getenv("NCCLTUNE_CORPUS");
    return own ? own : "../shared/corpus";
}

/* Cuts a line of CSV in place. */
static int cut(char *line, char *fields[MOST_FIELDS])
{
    int n = 0;
    for (char *p = line; n < MOST_FIELDS; p++) {
        int quoted = *p == '"';
        fields[n++] = p += quoted;
        p += strcspn(p, quoted ? "\"" : ",\r\n");
        if (quoted && *p)
            *p++ = 0;
        int more = *p == ',';
        *p = 0;
        if (!more)
            break;
    }
    return n;
}

static int coll_of(const char *name)
{
    return coll_parse(name, strlen(name));
}

static int version_of(const char *text)
{
    int major = 0, minor = 0, patch = 0;
    if (sscanf(text, "%d.%d.%d", &major, &minor, &patch) < 2) /* NOLINT(cert-err34-c): three small numbers */
        return 0;
    return major * (major == 2 && minor < 9 ? 1000 : 10000) + minor * 100 + patch;
}

/* Takes what NCCL takes when the algorithm or the protocol is forced. */
static void force(const struct nccl_model *m, struct model_call *c)
{
    int only_algo = c->algo, only_proto = c->proto;
    double best_us = 0;
    for (int algo = 0; algo < ALGO_COUNT; algo++)
        for (int proto = 0; proto < PROTO_COUNT; proto++) {
            double us = nccl_cost_us(m, c->coll, algo, proto, c->bytes);
            int allowed = (only_algo < 0 || algo == only_algo) && (only_proto < 0 || proto == only_proto);
            if (allowed && us >= 0 && (!(best_us > 0) || us < best_us)) {
                c->algo = algo;
                c->proto = proto;
                best_us = us;
            }
        }
}

static struct model *model_for(const char *machine, int nodes, int ranks, int version, int sockets, int no_nvls,
                               struct arena *a)
{
    struct err e = {0};
    char path[1024];
    snprintf(path, sizeof path, "%s/nccl-tests/%s", corpus(), machine);
    struct topology *t = strchr(machine, '/') ? topo_load(path, &e) : machine_topology(machine, nodes, &e);
    struct model_setup s = {.nccl = {.topology = t, .nodes = nodes, .ranks_per_node = ranks / nodes}};
    s.nccl.version = version;
    s.nccl.sockets = sockets;
    s.nccl.no_nvls = no_nvls;
    struct model *m = t ? model_new(&s, a, &e) : NULL;
    if (!m)
        end(e.text, machine);
    return m; /* the topology stays, as the model does */
}

static struct published_run *run_for(const char *name, int file)
{
    for (int i = 0; i < published_nruns; i++)
        if (!strcmp(published_runs[i].name, name))
            return &published_runs[i];
    if (published_nruns == PUBLISHED_RUNS)
        end("too many runs", name);
    struct published_run *r = &published_runs[published_nruns++];
    *r = (struct published_run){.file = file};
    snprintf(r->name, sizeof r->name, "%s", name);
    return r;
}

static void add_row(struct published_run *r, struct model_call c, double us)
{
    if (!c.bytes || !(us > 0)) /* nothing was sent: nccl-tests could not divide the bytes among the ranks */
        return;
    if (published_nrows == PUBLISHED_MOST)
        end("too many rows", r->name);
    if (c.algo >= 0 || c.proto >= 0)
        force(model_nccl(r->model), &c);
    r->coll = c.coll;
    published_rows[published_nrows++] = (struct published_row){(int)(r - published_runs), c, us};
}

static void add_published(char *f[MOST_FIELDS], struct arena *a)
{
    size_t i = 0;
    while (i < sizeof machines / sizeof *machines &&
           strncmp(f[1], machines[i].published, strlen(machines[i].published)) != 0)
        i++;
    if (i == sizeof machines / sizeof *machines)
        end("no bundled machine is like it", f[1]);
    const struct mapping *to = &machines[i];
    char name[96];
    int nodes = atoi(f[3]); /* NOLINT(cert-err34-c): a small number of a table */
    snprintf(name, sizeof name, "%s, %d× %s", f[1], nodes, f[5]);
    struct published_run *r = run_for(name, 0);
    if (!r->model) {
        int ranks = atoi(f[4]); /* NOLINT(cert-err34-c) */
        snprintf(r->machine, sizeof r->machine, "%s", to->machine);
        r->model = model_for(to->machine, nodes, ranks, version_of(f[14]), to->sockets, 0, a);
        r->nodes = nodes;
    }
    add_row(r, (struct model_call){coll_of(f[5]), strtoull(f[7], NULL, 10), to->algo, -1, 0}, strtod(f[8], NULL));
}

static int named(const char *name, const char *(*of)(int), int count)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(of(i), name))
            return i;
    return -1;
}

static void add_more(char *f[MOST_FIELDS], struct arena *a)
{
    int nodes = atoi(f[2]), ranks = atoi(f[3]); /* NOLINT(cert-err34-c) */
    struct published_run *r = run_for(f[0], 1);
    if (!r->model) {
        snprintf(r->machine, sizeof r->machine, "%s", f[1]);
        r->model = model_for(f[1], nodes, ranks, atoi(f[4]), atoi(f[8]), atoi(f[9]), a); /* NOLINT(cert-err34-c) */
        r->nodes = nodes;
    }
    struct model_call c = {coll_of(f[5]), strtoull(f[6], NULL, 10), -1, -1, 0};
    c.algo = named(f[10], algo_name, ALGO_COUNT);
    c.proto = named(f[11], proto_name, PROTO_COUNT);
    add_row(r, c, strtod(f[7], NULL));
}

static int read_table(const char *file, int least, void (*add)(char *fields[MOST_FIELDS], struct arena *a),
                      struct arena *a)
{
    char path[1024], line[MOST_LINE], *fields[MOST_FIELDS];
    snprintf(path, sizeof path, "%s/nccl-tests/%s", corpus(), file);
    FILE *f = fopen(path, "r");
    if (!f || !fgets(line, sizeof line, f)) {
        if (f)
            fclose(f);
        return -1;
    }
    while (fgets(line, sizeof line, f))
        if (cut(line, fields) >= least)
            add(fields, a);
    fclose(f);
    return 0;
}

int published_read(struct arena *a)
{
    return read_table("published.csv", MOST_FIELDS, add_published, a) || read_table("more.csv", 13, add_more, a) ? -1
                                                                                                                 : 0;
}

const char *const published_fabrics[] = {"NVLink, XGMI", "PCIe", "InfiniBand, RoCE", "EFA, TCPX, Slingshot", "sockets"};

int published_fabric(const struct published_run *r, const struct model_time *t)
{
    const struct nccl_model *n = model_nccl(r->model);
    if (n->nodes == 1 || t->share[MODEL_NET_HOPS] + t->share[MODEL_NET_LINKS] == 0)
        return model_prior(r->model)->part[MODEL_LINKS] > 0.25 ? 1 : 0;
    const char *assumed;
    if (n->setup.sockets)
        return 4;
    enum model_net_kind kind =
        model_net_kind_of(&n->setup.topology->classes[n->setup.class_index], &n->nets[0], &assumed);
    return kind == MODEL_NET_SOCKETS ? 4 : kind <= MODEL_NET_ROCE_VIRTUAL ? 2 : 3;
}
