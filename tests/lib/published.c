/* Rows come from the corpus, the machine of each run from doc/published.tsv. */
#include "tests/lib/published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/constants.h"
#include "model/model.h"
#include "probe/machines/machines.h"
#include "tests/lib/corpus.h"

enum { MOST_FIELDS = 17, MOST_LINE = 4096 };

struct published_run published_runs[PUBLISHED_RUNS];
struct published_row published_rows[PUBLISHED_MOST];
int published_nruns, published_nrows, published_unread;

/* What the source of a run says and the tables do not, by the beginning of its name: what was set, as the script that
 * made it sets it, who launched, as its own log says (nThread, nGpus) or the mpirun beside it, and which GPUs. */
static const struct recipe {
    const char *run, *settings;
    enum model_launcher launcher; /* nearly all by mpirun or srun with a process for every GPU */
    int version;                  /* where the table has none */
    int first_gpu;
} recipes[] = {
    /* microsoft/superbenchmark tests/data: "nThread 1 nGpus 8", and "Launch mode Parallel" as NCCL says before 2.14 */
    {"Azure ND A100", "", MODEL_LAUNCH_NODE, 21003},
    /* yumibyte/CS244C-Research: "nThread 1 nGpus 8", "nGpus 4" */
    {"Modal-", "", MODEL_LAUNCH_NODE, 0},
    {"L40S-", "", MODEL_LAUNCH_NODE, 0},
    /* IP over InfiniBand */
    {"Azure AKS IPoIB", "NCCL_IB_DISABLE=1", MODEL_LAUNCH_UNKNOWN, 0},
    /* GoogleCloudPlatform/cluster-toolkit examples/gke-a3-highgpu/nccl-config.yaml */
    {"GCP a3-highgpu", "NCCL_ALGO=Ring NCCL_PROTO=Simple NCCL_MIN_NCHANNELS=8 NCCL_MAX_NCHANNELS=8",
     MODEL_LAUNCH_PROCESS, 0},
    /* nccl-env-profile.sh of Google's installer: of April 2025, of 2026, and as dstackai/dstack runs it (README.md in
     * GoogleCloudPlatform/container-engine-accelerators gpudirect-tcpxo has every release's) */
    {"GCP a3-megagpu-8g,", "NCCL_ALGO=Ring,Tree NCCL_PROTO=Simple NCCL_NVLS_ENABLE=0", MODEL_LAUNCH_PROCESS, 0},
    {"GCP a3-megagpu-8g (", "NCCL_PROTO=Simple,LL128", MODEL_LAUNCH_PROCESS, 0},
    {"GCP-A3M", "NCCL_ALGO=Ring,Tree NCCL_PROTO=Simple,LL128 NCCL_NVLS_ENABLE=0", MODEL_LAUNCH_PROCESS, 0},
    /* aws-samples/aws-efa-eks examples/nccl-efa-tests.yaml */
    {"AWS p4d.", "NCCL_ALGO=Ring", MODEL_LAUNCH_PROCESS, 0},
    /* Panlichen/nccl-tests test_scripts/a100_test.py, v100_test_para_8card.py: -t 8 -g 1, a thread for every GPU */
    {"Pan-", "NCCL_ALGO=Ring NCCL_PROTO=Simple", MODEL_LAUNCH_PROCESS, 0},
    /* skypilot's README and google/dranet's demo: "nThread 1 nGpus 1" */
    {"A3U-H200-2", "", MODEL_LAUNCH_PROCESS, 0},
    /* "nThread 1 nGpus 1", NCCL_CROSS_NIC=0, all eight NICs */
    {"A4-B200-2n-gib", "NCCL_CROSS_NIC=0", MODEL_LAUNCH_PROCESS, 0},
    /* Oracle's and Slinky's pages: "nThread 1 nGpus 1", "-g 1"; "-g 8" of MI355X */
    {"OCI-GB300-", "", MODEL_LAUNCH_PROCESS, 0},
    {"Slinky-GB300-", "", MODEL_LAUNCH_PROCESS, 0},
    {"OCI-MI355X-", "", MODEL_LAUNCH_NODE, 0},
    {"SES-MI355X-", "", MODEL_LAUNCH_PROCESS, 0},
    {"Azure-H200-", "NCCL_MIN_NCHANNELS=32", MODEL_LAUNCH_PROCESS, 0},
    /* Dell R760xa, "nThread 1 nGpus 2": a GPU of each socket on its own root port, one NIC (NODE in topo -m) */
    {"L40S-2x2-", "", MODEL_LAUNCH_NODE, 0, .first_gpu = 1},
};

static void end(const char *what, const char *which)
{
    fprintf(stderr, "%s: %s\n", which, what);
    exit(1);
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

/* Return the machine of a run in the ledger, in `a`; NULL if it is not there. */
static const char *find_in_ledger(const char *run, struct arena *a)
{
    char line[MOST_LINE];
    const char *found = NULL;
    FILE *f = fopen(PUBLISHED_LEDGER, "r");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *at = line, *name = strsep(&at, "\t");
        for (int i = 1; i < 3; i++)
            strsep(&at, "\t");
        found = at && !strcmp(name, run) ? arena_strdup(a, strsep(&at, "\t")) : NULL;
    }
    if (f)
        fclose(f);
    return found;
}

static const struct recipe *recipe_of(const char *run)
{
    static const struct recipe unknown = {"", "", MODEL_LAUNCH_UNKNOWN};
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (!strncmp(run, recipes[i].run, strlen(recipes[i].run)))
            return &recipes[i];
    return &unknown;
}

/* "NAME=VALUE NAME=VALUE" */
static void apply(const char *settings, struct nccl_setup *s, struct arena *a)
{
    char *text = arena_strdup(a, settings);
    for (char *one; (one = strsep(&text, " "));) {
        char *value = strchr(one, '=');
        if (!value)
            continue;
        *value++ = 0;
        if (model_apply(&(struct bench_knobs){"", &(struct bench_setting){one, value}, 1}, s, a))
            end("the model does not know that setting", one);
    }
}

/* Makers by the letters that a machine's name begins with: "azure", "hgx"; all boxes of PCIe cards are one. */
static void put_kin(struct published_run *r, const char *machine)
{
    const char *assumed, *name = strchr(machine, '/') ? strchr(machine, '/') + 1 : machine;
    const struct nccl_model *n = r->model->nccl;
    const struct nccl_setup *s = &n->setup;
    int kind = n->nodes < 2 ? -1 : s->sockets ? MODEL_NET_SOCKETS : (int)model_net_kind_of(n->c, &n->nets[0], &assumed);
    int part = s->ranks_per_node < s->topology->classes[s->class_index].ngpus;
    r->machine = r->kin[PUBLISHED_MACHINE];
    snprintf(r->kin[PUBLISHED_MACHINE], sizeof r->kin[0], "%s", machine);
    snprintf(r->kin[PUBLISHED_MAKER], sizeof r->kin[0], "%.*s", (int)strcspn(name, "-0123456789"), name);
    snprintf(r->kin[PUBLISHED_GENERATION], sizeof r->kin[0], "%s", model_gpu_of(n->c, &assumed)->name);
    snprintf(r->kin[PUBLISHED_STRUCTURE], sizeof r->kin[0], "%s, net %d%s",
             r->model->prior.part[MODEL_LINKS] > 0.25 ? "PCIe" : "NVLink, XGMI", kind,
             kind >= 0 && part ? ", part" : "");
}

/* Prepare the model of a run. The ledger's machine wins over `column`, the table's, which is NULL if it has none. */
static void model_for(struct published_run *r, const char *column, int ranks, struct nccl_setup *n,
                      const char *settings, struct arena *a)
{
    struct err e = {0};
    const struct recipe *recipe = recipe_of(r->name);
    const char *listed = find_in_ledger(r->name, a), *machine = listed ? listed : column;
    if (!machine)
        end("not in " PUBLISHED_LEDGER, r->name);
    const char *path = strchr(machine, '/') ? corpus_file(a, arena_printf(a, "nccl-tests/%s", machine)) : NULL;
    struct topology *t = path ? topo_load(path, &e) : machine_topology(machine, r->nodes, &e);
    if (!t)
        end(e.text, machine);
    n->topology = t; /* stays, as the model does */
    n->nodes = r->nodes;
    n->ranks_per_node = ranks / r->nodes;
    n->version = n->version ? n->version : recipe->version;
    n->first_gpu = recipe->first_gpu;
    apply(recipe->settings, n, a);
    apply(settings, n, a);
    struct model_setup s = {.nccl = *n, .launcher = recipe->launcher};
    r->launcher = recipe->launcher;
    r->model = model_new(&s, a, &e);
    if (!r->model)
        end(e.text, machine);
    put_kin(r, machine);
}

static struct published_run *run_for(const char *name, int file, int nodes, const char *coll)
{
    for (int i = 0; i < published_nruns; i++)
        if (!strcmp(published_runs[i].name, name))
            return &published_runs[i];
    if (published_nruns == PUBLISHED_RUNS)
        end("too many runs", name);
    struct published_run *r = &published_runs[published_nruns++];
    *r = (struct published_run){.file = file, .nodes = nodes, .coll = coll_of(coll)};
    snprintf(r->name, sizeof r->name, "%s", name);
    return r;
}

static void add_row(const struct published_run *r, uint64_t bytes, double us)
{
    if (!bytes || !(us > 0)) /* nothing was sent: nccl-tests could not divide the bytes among the ranks */
        return;
    if (published_nrows == PUBLISHED_MOST)
        end("too many rows", r->name);
    published_rows[published_nrows++] =
        (struct published_row){(int)(r - published_runs), {r->coll, bytes, -1, -1, 0}, us};
}

static void add_published(char *f[MOST_FIELDS], struct arena *a)
{
    char name[96];
    int nodes = atoi(f[3]); /* NOLINT(cert-err34-c): a small number of a table */
    snprintf(name, sizeof name, "%s, %d× %s", f[1], nodes, f[5]);
    struct published_run *r = run_for(name, 0, nodes, f[5]);
    struct nccl_setup s = {.version = version_of(f[14])};
    if (!r->model)
        model_for(r, NULL, atoi(f[4]), &s, "", a); /* NOLINT(cert-err34-c) */
    add_row(r, strtoull(f[7], NULL, 10), strtod(f[8], NULL));
}

static void add_more(char *f[MOST_FIELDS], struct arena *a)
{
    if (f[1][0] == '@' && !find_in_ledger(f[0], a)) { /* a topology that is not among the recorded files */
        published_unread++;
        return;
    }
    struct published_run *r = run_for(f[0], 1, atoi(f[2]), f[5]); /* NOLINT(cert-err34-c) */
    /* NOLINTNEXTLINE(cert-err34-c) */
    struct nccl_setup s = {.version = atoi(f[4]), .sockets = atoi(f[8]), .no_nvls = atoi(f[9])};
    const char *algo = strcmp(f[10], "-") != 0 ? arena_printf(a, " NCCL_ALGO=%s", f[10]) : "";
    const char *proto = strcmp(f[11], "-") != 0 ? arena_printf(a, " NCCL_PROTO=%s", f[11]) : "";
    if (!r->model)
        model_for(r, f[1], atoi(f[3]), &s, arena_printf(a, "%s%s", algo, proto), a); /* NOLINT(cert-err34-c) */
    add_row(r, strtoull(f[6], NULL, 10), strtod(f[7], NULL));
}

static int read_table(const char *file, int least, void (*add)(char *fields[MOST_FIELDS], struct arena *a),
                      struct arena *a)
{
    char line[MOST_LINE], *fields[MOST_FIELDS];
    const char *path = corpus_file(a, arena_printf(a, "nccl-tests/%s", file));
    FILE *f = path ? fopen(path, "r") : NULL;
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
    if (!read_table("published.csv", MOST_FIELDS, add_published, a) && !read_table("more.csv", 13, add_more, a))
        return 0;
    published_nruns = published_nrows = 0;
    return -1;
}

void published_checksum(int run, char hex[SHA256_HEX])
{
    struct sha256 sum;
    sha256_init(&sum);
    for (int i = 0; i < published_nrows; i++) {
        char line[64];
        const struct published_row *r = &published_rows[i];
        if (r->run == run)
            sha256_update(&sum, line,
                          (size_t)snprintf(line, sizeof line, "%llu %.4g\n", (unsigned long long)r->call.bytes, r->us));
    }
    sha256_hex(&sum, hex);
}

int published_read_unseen(struct arena *a)
{
    published_nruns = published_nrows = 0;
    return read_table("more2.csv", 13, add_more, a);
}

const char *const published_fabrics[] = {"NVLink, XGMI", "PCIe", "InfiniBand, RoCE", "EFA, TCPX, Slingshot", "sockets"};

int published_fabric(const struct published_run *r, const struct model_time *t)
{
    const struct nccl_model *n = r->model->nccl;
    if (n->nodes == 1 || t->share[MODEL_NET_HOPS] + t->share[MODEL_NET_LINKS] == 0)
        return r->model->prior.part[MODEL_LINKS] > 0.25 ? 1 : 0;
    const char *assumed;
    if (n->setup.sockets)
        return 4;
    enum model_net_kind kind =
        model_net_kind_of(&n->setup.topology->classes[n->setup.class_index], &n->nets[0], &assumed);
    return kind == MODEL_NET_SOCKETS ? 4 : kind <= MODEL_NET_ROCE_VIRTUAL ? 2 : 3;
}
