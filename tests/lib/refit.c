/* Coordinate descent over the constants of model/constants.c that were fitted, from where nothing published has
 * a say. The tables are read-only, so their pages are made writable: the library's own code predicts with them. */
#include "tests/lib/refit.h"
#include "model/constants.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/published.h"

enum { MOST = 80, SWEEPS = 8, SIZES = 3 };

/* What a constant is: a number of the tables, or one that is in the links already and therefore scales the time that
 * they take. */
enum what { NUMBER, GPU_LINKS, HOST_MEMORY, NET_LINKS };

static struct constant {
    char name[40];
    enum what what;
    double *at; /* further numbers that move by as much follow */
    int others;
    double *same[2]; /* so do those of networks that wait as this one does */
    int kind;        /* of network, whose links these are */
    const struct model_gpu *gpu;
    double start, committed, now;
    double logs[PUBLISHED_RUNS]; /* of what was fitted without a machine */
} constants[MOST];
static int nconstants, nfits;

/* Which generations and networks the committed constants were fitted to. */
static const struct model_gpu *fitted_gpus[8];
static int fitted_nets;
static struct model_doubts doubts; /* the committed ones; wait 0: not changed */

static struct constant *add(const char *name, const char *of, enum what what, const double *at, double start)
{
    struct constant *c = &constants[nconstants++];
    snprintf(c->name, sizeof c->name, "%s%s%s", of, *of ? " " : "", name);
    c->what = what;
    c->at = (double *)(uintptr_t)at;
    c->start = start;
    c->committed = c->now = *at;
    return c;
}

/* The class that a run is of. */
static const struct topo_class *class_of(const struct published_run *r)
{
    const struct nccl_setup *s = &r->model->nccl->setup;
    return &s->topology->classes[s->class_index];
}

static const struct model_gpu *gpu_of(const struct published_run *r)
{
    const char *assumed;
    return model_gpu_of(class_of(r), &assumed);
}

/* -1: one node. */
static int kind_of(const struct published_run *r)
{
    const char *assumed;
    const struct nccl_model *n = r->model->nccl;
    return n->nodes < 2       ? -1
           : n->setup.sockets ? (int)MODEL_NET_SOCKETS
                              : (int)model_net_kind_of(class_of(r), &n->nets[0], &assumed);
}

/* Where the search starts: NCCL's number, else what one would have said of any such machine. */
static void add_gpu(const struct model_gpu *g)
{
    for (int i = 0; i < nconstants; i++)
        if (constants[i].gpu == g)
            return;
    for (int i = 0; g->evidence == MODEL_FITTED; i++)
        if (!fitted_gpus[i]) {
            fitted_gpus[i] = g;
            break;
        }
    add("fill", g->name, NUMBER, &g->fill, 0.3)->gpu = g;
    if (!strcmp(g->name, "Volta") || !strcmp(g->name, "CDNA 3")) /* the others' are NCCL's */
        add("links", g->name, GPU_LINKS, &g->link_efficiency, 0.8)->gpu = g;
    if (g->net_hop_us > 0)
        add("net hop", g->name, NUMBER, &g->net_hop_us, 30)->gpu = g;
}

static void add_net(int kind)
{
    const struct model_net *n = &model_nets[kind];
    char name[40];
    snprintf(name, sizeof name, "%s %d", n->name, kind);
    if (kind != MODEL_NET_ROCE) {
        struct constant *c = add("hop", name, NUMBER, n->hop_us, 25);
        c->others = PROTO_COUNT - 1;
        if (kind == MODEL_NET_INFINIBAND) {
            c->same[0] = (double *)(uintptr_t)model_nets[MODEL_NET_ROCE].hop_us;
            c->same[1] = (double *)(uintptr_t)model_nets[MODEL_NET_SLINGSHOT].hop_us;
        }
    }
    add("efficiency", name, NET_LINKS, &n->efficiency, 0.9)->kind = kind;
    if (n->idle_us > 0)
        add("idle", name, NUMBER, &n->idle_us, 100);
}

static void make_writable(const void *p, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)p & ~(page - 1);
    if (mprotect((void *)from, (uintptr_t)p + size - from,
                 PROT_READ | PROT_WRITE)) { /* NOLINT(performance-no-int-to-ptr) */
        perror("mprotect");
        exit(1);
    }
}

static void find_constants(void)
{
    const struct model_common *k = &model_common;
    add("issue", "", NUMBER, &k->issue_us, 2.5);
    add("issue of a channel", "", NUMBER, &k->issue_channel_us, 0.1);
    add("LL fill", "", NUMBER, &k->proto_fill[PROTO_LL], 0.1);
    add("LL128 fill", "", NUMBER, &k->proto_fill[PROTO_LL128], 0.8);
    add("LL hop over PCIe", "", NUMBER, &k->pcie_hop_us[PROTO_LL], 1);
    add("LL128 hop over PCIe", "", NUMBER, &k->pcie_hop_us[PROTO_LL128], 2.5);
    add("Simple hop over PCIe", "", NUMBER, &k->pcie_hop_us[PROTO_SIMPLE], 5.7);
    add("SHM", "", NUMBER, &k->shm_us, 1.5);
    add("tree fill", "", NUMBER, &k->tree_fill, 0.75);
    add("ring fill", "", NUMBER, &k->ring_fill, 0.05);
    add("fill of parts", "", NUMBER, &k->parts_fill, 0.5);
    add("most fill", "", NUMBER, &k->fill_most, 5);
    add("host memory", "", HOST_MEMORY, &k->host_GBps, 80);
    for (int i = 0; i < MODEL_NET_KINDS; i++)
        if (model_nets[i].evidence == MODEL_FITTED) {
            fitted_nets |= 1 << i;
            add_net(i);
        }
    for (int i = 0; i < published_nruns; i++)
        add_gpu(gpu_of(&published_runs[i]));
    make_writable(&model_common, sizeof model_common);
    make_writable(model_nets, sizeof(struct model_net[MODEL_NET_KINDS]));
    for (int i = 0; i < published_nruns; i++)
        make_writable(gpu_of(&published_runs[i]), sizeof(struct model_gpu));
}

static void set(struct constant *c, double to)
{
    double by = to - c->now;
    c->now = to;
    for (int i = 0; i <= c->others; i++) {
        c->at[i] += by;
        for (int k = 0; k < 2 && c->same[k]; k++)
            c->same[k][i] += by;
    }
}

static int meets_in_memory(const struct published_run *r)
{
    struct model_time t;
    const struct model_call large = {COLL_ALLREDUCE, (uint64_t)1 << 30, -1, -1, 0};
    return !model_predict(r->model, &large, &t) && !strcmp(t.limit, "host memory");
}

/* What is in the links of a run's machine. */
static void scale_links(const struct published_run *r)
{
    struct model_factors f = {.rest = 0};
    int kind = kind_of(r);
    for (int i = 0; i < MODEL_PARTS; i++)
        f.time[i] = 1;
    for (int i = 0; i < nconstants; i++) {
        const struct constant *c = &constants[i];
        if ((c->what == GPU_LINKS && c->gpu == gpu_of(r)) || (c->what == HOST_MEMORY && meets_in_memory(r)))
            f.time[MODEL_LINKS] *= c->committed / c->now;
        if (c->what == NET_LINKS && c->kind == kind)
            f.time[MODEL_NET_LINKS] *= c->committed / c->now;
    }
    model_set_factors(r->model, &f);
}

/* ---- fitting --------------------------------------------------------------------------------------------------- */

static int size_of(uint64_t bytes)
{
    return bytes < 1 << 20 ? 0 : bytes < 1 << 26 ? 1 : 2;
}

/* What is left out. */
static enum published_kin without_kin;

static int counts(const struct published_run *r, const char *without)
{
    return !without || strcmp(r->kin[without_kin], without) != 0;
}

/* Two cards whose topology tells no link say what a call waits for, and nothing of links. */
static int tells(const struct published_row *r)
{
    return r->call.bytes < 16384 || strcmp(published_runs[r->run].machine, "machines/2080x2.json") != 0;
}

/* Squares near, linear far off (P. Huber, Robust Estimation of a Location Parameter, 1964): beyond 1.345 of what
 * machines and calls of such sizes scatter by, 0.3, 0.2 and 0.1. */
static double cost(double error, int size)
{
    static const double nears[SIZES] = {0.4, 0.27, 0.135};
    double near = nears[size];
    return fabs(error) < near ? error * error / near : 2 * fabs(error) - near;
}

/* Machines count alike, and runs of a machine; large sizes more, where errors are smaller. */
static double loss(const char *without)
{
    static const double weights[SIZES] = {1, 1.3, 2};
    static double sum[PUBLISHED_RUNS][SIZES];
    static int n[PUBLISHED_RUNS][SIZES];
    double total = 0;
    memset(sum, 0, sizeof sum);
    memset(n, 0, sizeof n);
    for (int i = 0; i < published_nruns; i++)
        scale_links(&published_runs[i]);
    for (int i = 0; i < published_nrows; i++) {
        const struct published_row *r = &published_rows[i];
        const struct published_run *run = &published_runs[r->run];
        struct model_time t;
        if (!counts(run, without) || !tells(r) || model_predict(run->model, &r->call, &t))
            continue;
        sum[r->run][size_of(r->call.bytes)] += cost(log(t.us / r->us), size_of(r->call.bytes));
        n[r->run][size_of(r->call.bytes)]++;
    }
    for (int i = 0; i < published_nruns; i++)
        for (int s = 0; s < SIZES; s++) {
            int runs = 0;
            for (int k = 0; k < published_nruns; k++)
                runs += n[k][s] && !strcmp(published_runs[k].machine, published_runs[i].machine);
            total += n[i][s] ? weights[s] * sum[i][s] / n[i][s] / runs : 0;
        }
    return total;
}

/* A weak pull to the start, for what little tells of. */
static double pull(const struct constant *c)
{
    double away = log(c->now / c->start);
    return 0.03 * away * away;
}

static int is_efficiency(const struct constant *c)
{
    return c->what == GPU_LINKS || c->what == NET_LINKS;
}

/* Tries a constant up and down by a factor; whether that helped. */
static int try_step(struct constant *c, double factor, const char *without, double *best)
{
    double before = c->now, pulled = pull(c);
    for (int up = 0; up < 2; up++) {
        double to = up ? before * factor : before / factor;
        if (is_efficiency(c) && to > 0.97)
            continue;
        set(c, to);
        double now = loss(without);
        if (now + pull(c) < *best + pulled - 1e-4) {
            *best = now;
            return 1;
        }
    }
    set(c, before);
    return 0;
}

/* ---- what is known without a machine ------------------------------------------------------------------------------
 */

static struct model *models[PUBLISHED_RUNS]; /* of runs, with committed constants; NULL: in use */

static int is_fitted(const struct model_gpu *gpu)
{
    for (size_t i = 0; i < sizeof fitted_gpus / sizeof *fitted_gpus; i++)
        if (fitted_gpus[i] == gpu)
            return 1;
    return 0;
}

static int others_have(const char *without, const struct model_gpu *gpu, int kind)
{
    for (int i = 0; i < published_nruns; i++)
        if (counts(&published_runs[i], without) &&
            (gpu ? gpu_of(&published_runs[i]) == gpu : kind_of(&published_runs[i]) == kind))
            return 1;
    return 0;
}

/* A generation or a network that no other machine has follows its relatives. */
static void put_evidence(const struct published_run *r, const char *without, enum model_evidence evidence)
{
    struct model_gpu *gpu = (struct model_gpu *)(uintptr_t)gpu_of(r);
    int kind = kind_of(r);
    if (!others_have(without, gpu, 0) && is_fitted(gpu))
        gpu->evidence = evidence;
    if (kind >= 0 && !others_have(without, NULL, kind) && fitted_nets >> kind & 1)
        ((struct model_net *)(uintptr_t)&model_nets[kind])->evidence = evidence;
}

static void descend(const char *without)
{
    static double factors[MOST];
    for (int i = 0; i < nconstants; i++) {
        set(&constants[i], constants[i].start);
        factors[i] = 1.4;
    }
    double best = loss(without);
    for (int k = 0; k < SWEEPS; k++)
        for (int i = 0; i < nconstants; i++)
            factors[i] = try_step(&constants[i], factors[i], without, &best) ? fmin(pow(factors[i], 1.3), 1.6)
                                                                             : fmax(sqrt(factors[i]), 1.01);
}

void refit_without(enum published_kin kin, const char *of, struct arena *a)
{
    if (!nconstants)
        find_constants();
    without_kin = kin;
    descend(of);
    for (int i = 0; i < nconstants && of; i++)
        constants[i].logs[nfits] = log(constants[i].now);
    nfits += of != NULL;
    for (int i = 0; i < published_nruns && of; i++)
        if (!counts(&published_runs[i], of))
            put_evidence(&published_runs[i], of, MODEL_FOLLOWS);
    for (int i = 0; i < published_nruns && of; i++) {
        struct published_run *r = &published_runs[i];
        if (counts(r, of))
            continue;
        models[i] = r->model;
        struct model_setup *s = ARENA_NEW(a, struct model_setup);
        *s = (struct model_setup){.nccl = r->model->nccl->setup, .launcher = r->launcher};
        r->model = model_new(s, a, NULL);
    }
}

void refit_committed(void)
{
    for (int i = 0; i < nconstants; i++)
        set(&constants[i], constants[i].committed);
    for (int i = 0; i < published_nruns; i++) {
        struct published_run *r = &published_runs[i];
        if (models[i]) {
            put_evidence(r, r->kin[without_kin], MODEL_FITTED);
            r->model = models[i];
        }
        models[i] = NULL;
        model_set_factors(r->model, &(struct model_factors){0});
    }
    if (doubts.wait > 0)
        memcpy((void *)(uintptr_t)&model_doubts, &doubts, sizeof doubts);
}

/* ---- doubts ----------------------------------------------------------------------------------------------------- */

enum { WAIT = MODEL_PARTS, CARRY, BETWEEN, COMPONENTS, MOST_ROWS = 400 };
#define TAILS 4.0 /* degrees of freedom of a machine's errors together: some are unlike all others */

/* Where the search starts, and is weakly held, whatever is committed. */
static double scale[COMPONENTS]; /* the committed components, in which doubts are told */
static const double first[COMPONENTS] = {0.3, 0.3, 0.2, 0.3, 0.2, 0.2, 0.1, 0.2};

/* The logarithm, but for a constant, of how unlikely the errors of a machine's rows are: covariances by the parts that
 * they share, by Cholesky's decomposition. */
static double surprise(const struct model_time *t, const int *row, int n, const double by[COMPONENTS])
{
    static double c[MOST_ROWS][MOST_ROWS], e[MOST_ROWS];
    const struct model_prior *p = &published_runs[published_rows[row[0]].run].model->prior;
    double sum = 0, far = 0;
    for (int i = 0; i < n; i++) {
        const double *own = t[row[i]].share;
        double carried = own[MODEL_LINKS] + own[MODEL_NET_LINKS];
        double other = t[row[i]].doubt.shared[MODEL_PARTS];
        e[i] = log(published_rows[row[i]].us / t[row[i]].us);
        for (int k = 0; k <= i; k++) {
            c[i][k] = 0;
            for (int q = 0; q < MODEL_PARTS; q++)
                c[i][k] +=
                    t[row[i]].doubt.shared[q] * t[row[k]].doubt.shared[q] * by[q] * by[q] / (scale[q] * scale[q]);
            if (published_rows[row[i]].run == published_rows[row[k]].run)
                c[i][k] += model_between(own) * model_between(t[row[k]].share) * by[BETWEEN] * by[BETWEEN];
        }
        double wait = p->wait * by[WAIT] / scale[WAIT]; /* more over sockets */
        c[i][i] += carried * by[CARRY] * by[CARRY] + (1 - carried) * wait * wait + other * other;
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k <= i; k++) {
            for (int q = 0; q < k; q++)
                c[i][k] -= c[i][q] * c[k][q];
            c[i][k] = k < i ? c[i][k] / c[k][k] : sqrt(fmax(c[i][i], 1e-9));
        }
        for (int k = 0; k < i; k++)
            e[i] -= c[i][k] * e[k];
        e[i] /= c[i][i];
        far += e[i] * e[i];
        sum += log(c[i][i]);
    }
    return sum + (TAILS + n) / 2 * log1p(far / TAILS);
}

/* Rows of one machine tell much the same: those beyond 20 count as 20 do. */
static double surprises(const struct model_time *t, const char *without, const double by[COMPONENTS])
{
    double sum = 0;
    for (int i = 0; i < COMPONENTS; i++)
        sum += 2 * log(by[i] / first[i]) * log(by[i] / first[i]); /* a factor of 1.65 is one standard deviation */
    for (int i = 0; i < published_nruns; i++) {
        int row[MOST_ROWS], n = 0, first_of = 1;
        for (int k = 0; k < i; k++)
            first_of &= strcmp(published_runs[k].machine, published_runs[i].machine) != 0;
        for (int k = 0; k < published_nrows && first_of && counts(&published_runs[i], without); k++)
            if (t[k].us > 0 && !strcmp(published_runs[published_rows[k].run].machine, published_runs[i].machine))
                row[n++] = k;
        sum += n ? surprise(t, row, n, by) * fmin(1, 20.0 / n) : 0;
    }
    return sum;
}

void refit_doubts(const struct model_time *predicted, enum published_kin kin, const char *of)
{
    struct model_doubts *d = (struct model_doubts *)(uintptr_t)&model_doubts;
    if (!(doubts.wait > 0)) {
        make_writable(d, sizeof *d);
        doubts = *d;
    }
    double *committed[COMPONENTS] = {[WAIT] = &d->wait, [CARRY] = &d->carry, [BETWEEN] = &d->between};
    double by[COMPONENTS], factors[COMPONENTS];
    for (int i = 0; i < COMPONENTS; i++) {
        committed[i] = i < MODEL_PARTS ? &d->part[MODEL_FITTED][i] : committed[i];
        scale[i] = *committed[i];
        by[i] = first[i];
        factors[i] = 1.4;
    }
    without_kin = kin;
    double best = surprises(predicted, of, by);
    for (int k = 0; k < SWEEPS; k++)
        for (int i = 0; i < COMPONENTS; i++) {
            double before = by[i], start = best;
            for (int up = 0; up < 2 && !(best < start); up++) {
                by[i] = up ? before * factors[i] : before / factors[i];
                best = fmin(best, surprises(predicted, of, by));
            }
            by[i] = best < start ? by[i] : before;
            factors[i] = best < start ? fmin(pow(factors[i], 1.3), 1.6) : fmax(sqrt(factors[i]), 1.02);
        }
    for (int i = MODEL_PARTS; i < COMPONENTS; i++)
        *committed[i] = by[i];
    d->socket_wait *= by[WAIT] / scale[WAIT];
    for (int i = 0; i < MODEL_PARTS; i++)
        for (int k = 0; k <= MODEL_UNKNOWN; k++)
            d->part[k][i] *= by[i] / scale[i];
}

/* The jackknife: what the mean of the logarithm would scatter by, were other machines published. */
static double standard_error(const double *logs, int n)
{
    double mean = 0, squares = 0;
    for (int i = 0; i < n; i++)
        mean += logs[i] / n;
    for (int i = 0; i < n; i++)
        squares += (logs[i] - mean) * (logs[i] - mean);
    return sqrt(squares * (n - 1) / n);
}

void refit_print(void)
{
    printf("%-32s %9s %9s %9s %9s %7s\n", "constant", "committed", "start", "fitted", "off by", "doubt");
    for (int i = 0; i < nconstants; i++) {
        const struct constant *c = &constants[i];
        printf("%-32s %9.3g %9.3g %9.3g %9.2f", c->name, c->committed, c->start, c->now, c->committed / c->now);
        if (nfits > 1)
            printf(" %7.2f", exp(standard_error(c->logs, nfits)));
        puts("");
    }
}
