/* How true predictions are, against results that operators published (tests/lib/published.h): by size and by what joins
 * the GPUs, the median factor between predicted and published time and the part of times within the interval, before
 * anything is measured and after three calls of each site; how often a decision between two ways would have been right.
 * Beside it two baselines on the same rows: alpha + beta × bytes fitted to them, and NCCL's own estimate.
 *
 *   perf_model_truth           the tables: each machine, then each maker, generation of GPUs and structure, predicted
 *                              from constants and doubts that were fitted without it; at the end what was never fitted
 *   perf_model_truth -d        the same without the never-fitted rows, which are not to be looked at while developing
 *   perf_model_truth -c        with the committed constants and doubts, without the never-fitted rows
 *   ... -v                     every row: run, bytes, published and predicted time, interval, what was predicted, the
 *                              same after three calls
 *   perf_model_truth -f [M]    every fitted constant, committed and fitted anew (without machine M) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "envgen/predict/predict.h"
#include "model/links.h"
#include "model/nccl/model.h"
#include "tests/lib/published.h"
#include "tests/lib/refit.h"

enum { SIZES = 3, FABRICS = PUBLISHED_FABRICS };

static const char *const size_names[] = {"below 1 MiB", "1 to 64 MiB", "from 64 MiB"};
static const uint64_t size_from[] = {0, 1 << 20, 1 << 26, UINT64_MAX};
/* A row with what the model makes of it. */
struct judged {
    struct model_time t, after; /* before, and after three calls */
    double nccl_us, line_us;
    int size, fabric, used; /* used: one of the three */
    int known;              /* `after` holds */
};
static struct judged rows[PUBLISHED_MOST];

/* ---- predictions ----------------------------------------------------------------------------------------------- */

static void judge(int run)
{
    for (int i = 0; i < published_nrows; i++) {
        const struct published_row *r = &published_rows[i];
        const struct published_run *of = &published_runs[r->run];
        struct judged *j = &rows[i];
        if (r->run != run || model_predict(of->model, &r->call, &j->t))
            continue;
        const struct nccl_model *n = of->model->nccl;
        j->nccl_us = j->t.algo < 0 ? 0 : nccl_cost_us(n, r->call.coll, j->t.algo, j->t.proto, r->call.bytes);
        while (r->call.bytes >= size_from[j->size + 1])
            j->size++;
        j->fabric = published_fabric(of, &j->t);
    }
}

/* log (published / predicted) */
static double error_of(const struct model_time *t, int i)
{
    return log(published_rows[i].us / t->us);
}

/* ---- after three calls ------------------------------------------------------------------------------------------- */

/* The row of a run whose size is nearest to `bytes`; -1 none. */
static int nearest(int run, double bytes)
{
    int best = -1;
    for (int i = 0; i < published_nrows; i++)
        if (published_rows[i].run == run && rows[i].t.us > 0 &&
            (best < 0 || fabs(log((double)published_rows[i].call.bytes / bytes)) <
                             fabs(log((double)published_rows[best].call.bytes / bytes))))
            best = i;
    return best;
}

/* Calibrates with a small, a middle and a large call of a run, and predicts its other rows. */
static void calibrate(int run)
{
    static const double sizes[] = {4096, 4194304, 268435456};
    struct published_run *r = &published_runs[run];
    const struct nccl_model *n = r->model->nccl;
    struct model_setup setup = {.nccl = n->setup, .launcher = r->launcher};
    struct model_observation o[3];
    struct model_fit fit;
    for (int k = 0; k < 3; k++) {
        int i = nearest(run, sizes[k]);
        if (i < 0 || rows[i].used)
            return; /* a run of fewer than three */
        const struct model_call *c = &published_rows[i].call;
        rows[i].used = 1;
        o[k] = (struct model_observation){c->coll, n->nodes, n->ranks,    c->bytes,
                                          c->algo, c->proto, c->channels, published_rows[i].us};
    }
    if (model_calibrate(&setup, o, 3, &fit, NULL))
        return;
    model_set_factors(r->model, &fit.factors);
    for (int i = 0; i < published_nrows; i++)
        if (published_rows[i].run == run && !rows[i].used)
            rows[i].known = !model_predict(r->model, &published_rows[i].call, &rows[i].after);
    model_set_factors(r->model, &(struct model_factors){0});
}

static int is_first_of(int run, enum published_kin kin)
{
    for (int i = 0; i < run; i++)
        if (!strcmp(published_runs[i].kin[kin], published_runs[run].kin[kin]))
            return 0;
    return 1;
}

static void judge_kin(enum published_kin kin, const char *of)
{
    for (int i = 0; i < published_nruns; i++)
        if (!strcmp(published_runs[i].kin[kin], of)) {
            judge(i);
            calibrate(i);
        }
}

/* ---- the line --------------------------------------------------------------------------------------------------- */

static int same_line(int i, int k)
{
    const struct published_run *a = &published_runs[published_rows[i].run], *b = &published_runs[published_rows[k].run];
    return rows[i].fabric == rows[k].fabric && a->coll == b->coll && (a->nodes > 1) == (b->nodes > 1);
}

/* alpha + beta × bytes of all rows of a collective on a kind of fabric, by least squares on relative errors. */
static void put_line(int i)
{
    double s[5] = {0};
    for (int k = 0; k < published_nrows; k++) {
        if (!(rows[k].t.us > 0) || !same_line(i, k))
            continue;
        double w = 1 / (published_rows[k].us * published_rows[k].us), x = (double)published_rows[k].call.bytes;
        s[0] += w;
        s[1] += w * x;
        s[2] += w * x * x;
        s[3] += w * published_rows[k].us;
        s[4] += w * x * published_rows[k].us;
    }
    double det = s[0] * s[2] - s[1] * s[1], x = (double)published_rows[i].call.bytes;
    double beta = det > 0 ? (s[0] * s[4] - s[1] * s[3]) / det : 0, alpha = (s[3] - beta * s[1]) / s[0];
    rows[i].line_us = alpha + beta * x;
}

/* All runs from constants, and in a second pass from doubts, that none of their kin was used for. */
static void judge_left_out(enum published_kin kin, struct arena *a)
{
    static struct model_time first[PUBLISHED_MOST];
    for (int pass = 0; pass < 2; pass++) {
        memset(rows, 0, sizeof rows);
        for (int i = 0; i < published_nruns; i++) {
            const char *of = published_runs[i].kin[kin];
            if (!is_first_of(i, kin))
                continue;
            if (pass)
                refit_doubts(first, kin, of);
            refit_without(kin, of, a);
            judge_kin(kin, of);
            refit_committed();
        }
        for (int i = 0; i < published_nrows; i++)
            first[i] = rows[i].t;
    }
    for (int i = 0; i < published_nrows; i++)
        put_line(i);
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static const char *machine_of(int i)
{
    return published_runs[published_rows[i].run].machine;
}

struct cell {
    int n, machines, inside, after_n, after_inside;
    double factor, after_factor, band, after_band, line_factor, nccl_factor;
};

static int chosen(int i, int size, int fabric)
{
    return rows[i].t.us > 0 && rows[i].size == size && (fabric < 0 || rows[i].fabric == fabric);
}

static double factor(double *errors, int n)
{
    return n ? exp(stats_median(errors, n)) : 0;
}

static int is_first_of_machine(int i, int size, int fabric)
{
    for (int k = 0; k < i; k++)
        if (chosen(k, size, fabric) && !strcmp(machine_of(i), machine_of(k)))
            return 0;
    return 1;
}

static struct cell cell_of(int size, int fabric)
{
    static double e[6][PUBLISHED_MOST];
    struct cell c = {0};
    int nccl = 0;
    for (int i = 0; i < published_nrows; i++) {
        if (!chosen(i, size, fabric))
            continue;
        const struct judged *j = &rows[i];
        double us = published_rows[i].us;
        c.machines += is_first_of_machine(i, size, fabric);
        c.inside += us >= j->t.low_us && us <= j->t.high_us;
        e[0][c.n] = fabs(error_of(&j->t, i));
        e[1][c.n] = log(j->t.high_us / j->t.us);
        e[2][c.n++] = j->line_us > 0 ? fabs(log(us / j->line_us)) : 9;
        if (j->nccl_us > 0)
            e[3][nccl++] = fabs(log(us / j->nccl_us));
        if (!j->known)
            continue;
        c.after_inside += us >= j->after.low_us && us <= j->after.high_us;
        e[4][c.after_n] = fabs(error_of(&j->after, i));
        e[5][c.after_n++] = log(j->after.high_us / j->after.us);
    }
    c.factor = factor(e[0], c.n);
    c.band = factor(e[1], c.n);
    c.line_factor = factor(e[2], c.n);
    c.nccl_factor = factor(e[3], nccl);
    c.after_factor = factor(e[4], c.after_n);
    c.after_band = factor(e[5], c.after_n);
    return c;
}

static void print_cell(const char *size, const char *fabric, const struct cell *c)
{
    if (!c->n)
        return;
    printf("%-12s  %-20s %5d %9d   %6.2f %7.2f %6.0f %%   ", size, fabric, c->n, c->machines, c->factor, c->band,
           100.0 * c->inside / c->n);
    if (c->after_n)
        printf("%5d %6.2f %7.2f %6.0f %%", c->after_n, c->after_factor, c->after_band,
               100.0 * c->after_inside / c->after_n);
    else
        printf("%5s %6s %7s %8s", "-", "-", "-", "-");
    printf("   %6.2f %8.2f\n", c->line_factor, c->nccl_factor);
}

static void print_tables(const char *what, int fabrics)
{
    printf("Published times against predictions%s\n\n"
           "%-12s  %-20s %5s %9s   %6s %7s %8s   %26s   %6s %8s\n",
           what, "size", "what joins GPUs", "rows", "machines", "factor", "band", "inside",
           "after 3: rows factor band inside", "line", "NCCL's");
    for (int size = 0; size < SIZES; size++) {
        for (int fabric = fabrics ? 0 : FABRICS; fabric <= FABRICS; fabric++) {
            struct cell c = cell_of(size, fabric < FABRICS ? fabric : -1);
            print_cell(size_names[size], fabric < FABRICS ? published_fabrics[fabric] : "all", &c);
        }
    }
}

/* ---- decisions ------------------------------------------------------------------------------------------------- */

struct decisions {
    int pairs, held;  /* quotients, and those that their interval holds */
    int made, right;  /* where the interval of the second clears the margin */
    int gains, found; /* of more than a tenth; those that were decided for */
};

#define MARGIN log(1.03)
#define GAIN   log(1.10)

/* Decisions for one way of a call on one machine: the rows of envgen/predict/record.c. */
static struct record {
    const char *machine;
    int coll, algo, proto, made, right;
    uint64_t low, high;
} records[64];
static int nrecords;

static void add_record(int k, int right)
{
    const struct published_row *row = &published_rows[k];
    const struct model_time *t = &rows[k].t;
    const char *machine = published_runs[row->run].machine;
    int i = 0;
    while (i < nrecords && (strcmp(records[i].machine, machine) != 0 || records[i].coll != row->call.coll ||
                            records[i].algo != t->algo || records[i].proto != t->proto))
        i++;
    if (i == 64)
        return;
    if (i == nrecords)
        records[nrecords++] = (struct record){machine, row->call.coll, t->algo, t->proto, 0, 0, UINT64_MAX, 0};
    records[i].made++;
    records[i].right += right;
    records[i].low = row->call.bytes < records[i].low ? row->call.bytes : records[i].low;
    records[i].high = row->call.bytes > records[i].high ? row->call.bytes : records[i].high;
}

static void print_records(void)
{
    for (int i = 0; i < nrecords; i++)
        printf("  %-14s %s %s/%s from %llu to %llu bytes: %d of %d right\n", records[i].machine,
               coll_name(records[i].coll), algo_name(records[i].algo), proto_name(records[i].proto),
               (unsigned long long)records[i].low, (unsigned long long)records[i].high, records[i].right,
               records[i].made);
}

static void decide(int i, int k, struct decisions *d)
{
    double predicted = log(rows[i].t.us / rows[k].t.us), measured = log(published_rows[i].us / published_rows[k].us);
    double band = BENCH_NINE_OF_TEN * bench_doubt_of_quotient(&rows[i].t.doubt, &rows[k].t.doubt);
    int made = predicted - band > MARGIN;
    d->pairs++;
    d->held += fabs(measured - predicted) <= band;
    d->made += made;
    if (made && published_rows[i].run != published_rows[k].run)
        add_record(k, measured > 0);
    d->right += made && measured > 0;
    d->gains += measured > GAIN;
    d->found += made && measured > GAIN;
}

/* Runs that differ by what was forced alone: "L40S-4-ring" and "L40S-4-LL". */
static int is_same_site(const char *a, const char *b)
{
    static const char *const forced[] = {"-def", "-ring", "-tree", "-LL", "-noNVLS"};
    size_t n[2] = {strlen(a), strlen(b)};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof forced / sizeof *forced; i++) {
            size_t length = strlen(forced[i]);
            if (n[k] > length && !strcmp((k ? b : a) + n[k] - length, forced[i])) {
                n[k] -= length;
                break;
            }
        }
    return n[0] == n[1] && !strncmp(a, b, n[0]);
}

static int differ(int i, int k)
{
    return rows[i].t.us > 0 && rows[k].t.us > 0 && rows[i].t.doubt.way != rows[k].t.doubt.way;
}

static void print_decisions(void)
{
    struct decisions sites = {0}, sizes = {0};
    for (int i = 0; i < published_nrows; i++)
        for (int k = 0; k < published_nrows; k++) {
            const struct published_row *a = &published_rows[i], *b = &published_rows[k];
            if (a->run != b->run && a->call.bytes == b->call.bytes && differ(i, k) &&
                is_same_site(published_runs[a->run].name, published_runs[b->run].name))
                decide(i, k, &sites);
            if (a->run == b->run && k == i + 1 && differ(i, k) && b->call.bytes <= 4 * a->call.bytes)
                decide(i, k, &sizes);
        }
    printf(
        "\nMeasured both ways on one machine: %d pairs, the interval of the quotient holds %d; decided %d, %d rightly; "
        "of %d gains > 10 %%, %d found (%.0f %%)\n"
        "Where NCCL's way changes from one size to the next: %d pairs, the interval holds %d (%.0f %%)\n",
        sites.pairs, sites.held, sites.made, sites.right, sites.gains, sites.found,
        100.0 * sites.found / (sites.gains ? sites.gains : 1), sizes.pairs, sizes.held,
        100.0 * sizes.held / (sizes.pairs ? sizes.pairs : 1));
    print_records();
}

/* ---- what stays outside ----------------------------------------------------------------------------------------- */

/* Why, by the beginning of a run's name; a guess where it says "perhaps". */
static const struct {
    const char *run, *why;
} reasons[] = {
    {"2080Ti-", "a link between two cards that the topology does not tell, slower both ways at once"},
    {"AAC-MI300X", "other kernels than rings and trees up to 16 MiB (MSCCL); only this machine shows CDNA 3's hop"},
    {"AWS p4d.", "the first transport over EFA, with NCCL 2.9.9; no other machine has it"},
    {"AWS p5.48xlarge (EKS)", "takes up to twice as long as the other run of two p5, at the sizes of both"},
    {"Azure AKS SR-IOV",
     "two calls that took two to five times their neighbours' time (its second column has them right)"},
    {"Azure ND A100", "filling of all-to-all and of parts, which other machines tell little of"},
    {"CSCS-GH200-2n-sock", "sockets scatter by themselves"},
    {"CSCS-GH200-2n1g", "Slingshot waits 0.3 ms up to 4 MiB: perhaps the rendezvous of libfabric's CXI"},
    {"GCP a3-highgpu", "GPUDirect-TCPX, whose calls wait 0.9 ms; no other machine has it"},
    {"GCP a3-megagpu-8g,", "4 to 64 MiB: perhaps Google's tuner plugin, which chooses for these sizes"},
    {"Modal-", "a sandbox, whose launches cost 1.6 times what they cost on other hosts"},
    {"OCI-A100", "bare RoCE, told by this machine and by MI300X alone"},
    {"Pan-a100", "eight GPUs without P2P over two sockets: 11 GB/s pass where NCCL counts with 16"},
};

static const char *reason_of(const char *run)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (!strncmp(run, reasons[i].run, strlen(reasons[i].run)))
            return reasons[i].why;
    return "not explained";
}

/* Runs of which the band holds less than 85 % of a range of sizes. */
static void print_outside(void)
{
    static double e[PUBLISHED_MOST];
    puts("\nRuns that stay outside: rows that the band holds, the median factor, and why");
    for (int run = 0; run < published_nruns; run++)
        for (int size = 0; size < SIZES; size++) {
            int n = 0, in = 0;
            for (int i = 0; i < published_nrows; i++)
                if (published_rows[i].run == run && rows[i].t.us > 0 && rows[i].size == size) {
                    in += published_rows[i].us >= rows[i].t.low_us && published_rows[i].us <= rows[i].t.high_us;
                    e[n++] = fabs(error_of(&rows[i].t, i));
                }
            if (in < 0.85 * n)
                printf("%-50s %-12s %2d of %2d  %5.2f  %s\n", published_runs[run].name, size_names[size], in, n,
                       factor(e, n), reason_of(published_runs[run].name));
        }
}

static void print_rows(void)
{
    for (int i = 0; i < published_nrows; i++) {
        const struct model_time *t = &rows[i].t;
        if (t->us > 0)
            printf("%-50s %12llu %10.1f %10.1f %5.2f [%.1f, %.1f] %s %s %d %s, after %.2f\n",
                   published_runs[published_rows[i].run].name, (unsigned long long)published_rows[i].call.bytes,
                   published_rows[i].us, t->us, t->us / published_rows[i].us, t->low_us, t->high_us,
                   t->algo < 0 ? "-" : algo_name(t->algo), t->proto < 0 ? "-" : proto_name(t->proto), t->channels,
                   t->limit, rows[i].known ? rows[i].after.us / published_rows[i].us : 0);
    }
}

/* Judge the rows that were never used for fitting, by run too. */
static int judge_unseen(struct arena *a)
{
    memset(rows, 0, sizeof rows);
    if (published_read_unseen(a)) {
        puts("\nno results that were never fitted: more2.csv is not there");
        return -1;
    }
    for (int run = 0; run < published_nruns; run++)
        judge(run);
    for (int i = 0; i < published_nrows; i++)
        put_line(i);
    return 0;
}

/* The blocks of the pages that tools/tables writes. */
static void print_blocks(struct arena *a)
{
    if (judge_unseen(a))
        return;
    puts("[held-out]\n| size | results | machines | inside 90 % interval | model | NCCL's estimate | straight line |\n"
         "|---|---|---|---|---|---|---|");
    for (int size = 0; size < SIZES; size++) {
        struct cell c = cell_of(size, -1);
        printf("| %s | %d | %d | %.0f %% | %.2f | %.2f | %.2f |\n", size_names[size], c.n, c.machines,
               100.0 * c.inside / (c.n ? c.n : 1), c.factor, c.nccl_factor, c.line_factor);
    }
    puts("[example]\n| bytes | measured, us | predicted, us | 90 % interval |\n|---|---|---|---|");
    for (int i = 0; i < published_nrows; i++) {
        const struct published_row *r = &published_rows[i];
        const struct model_time *t = &rows[i].t;
        static const uint64_t shown[] = {16 << 10, 1 << 20, 16 << 20, 256 << 20, UINT64_C(8) << 30};
        int is_shown = !strcmp(published_runs[r->run].name, "HGX-H100-2n-309");
        for (int k = 0; is_shown && k < 5; k++)
            if (shown[k] == r->call.bytes)
                printf("| %llu | %.0f | %.0f | %.0f to %.0f |\n", (unsigned long long)r->call.bytes, r->us, t->us,
                       t->low_us, t->high_us);
    }
}

static void print_unseen(struct arena *a)
{
    static double e[2][PUBLISHED_MOST];
    if (judge_unseen(a))
        return;
    putchar('\n');
    print_tables(" that no constant was fitted to", 0);
    puts("\nBy run: rows, those within the interval, and the median factor of the model and of NCCL's own estimate");
    for (int run = 0; run < published_nruns; run++) {
        int n = 0, in = 0, nccl = 0;
        for (int i = 0; i < published_nrows; i++) {
            if (published_rows[i].run != run || !(rows[i].t.us > 0))
                continue;
            in += published_rows[i].us >= rows[i].t.low_us && published_rows[i].us <= rows[i].t.high_us;
            e[0][n++] = fabs(error_of(&rows[i].t, i));
            if (rows[i].nccl_us > 0)
                e[1][nccl++] = fabs(log(published_rows[i].us / rows[i].nccl_us));
        }
        printf("%-28s %-16s %3d %3d  %5.2f %6.2f\n", published_runs[run].name, published_runs[run].machine, n, in,
               factor(e[0], n), factor(e[1], nccl));
    }
    if (published_unread)
        printf("%d rows are of machines whose topology is not there\n", published_unread);
}

static int print_constants(const char *without, struct arena *a)
{
    for (int i = 0; i < published_nruns && !without; i++)
        if (is_first_of(i, PUBLISHED_MACHINE)) {
            refit_without(PUBLISHED_MACHINE, published_runs[i].machine, a);
            refit_committed();
        }
    refit_without(PUBLISHED_MACHINE, without, a);
    refit_print();
    arena_free(a);
    return 0;
}

int main(int argc, char **argv)
{
    struct arena *a = arena_new();
    if (published_read(a)) {
        puts("no published results: set NCCLTUNE_CORPUS to the folder that has nccl-tests/");
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "-m")) {
        print_blocks(a);
        arena_free(a);
        return 0;
    }
    char how = argc > 1 && argv[1][0] == '-' ? argv[1][1] : 'l';
    if (how == 'f')
        return print_constants(argv[2], a);
    if (how == 'c') {
        for (int i = 0; i < published_nruns; i++) {
            judge(i);
            calibrate(i);
        }
        for (int i = 0; i < published_nrows; i++)
            put_line(i);
    } else {
        judge_left_out(PUBLISHED_MACHINE, a);
    }
    if (!strcmp(argv[argc - 1], "-v")) {
        print_rows();
        arena_free(a);
        return 0;
    }
    print_tables(how == 'c' ? "" : ", of each machine from constants and doubts fitted without it", 1);
    print_decisions();
    print_outside();
    for (int kin = PUBLISHED_MAKER; kin < PUBLISHED_KINS && how != 'c'; kin++) {
        judge_left_out((enum published_kin)kin, a);
        putchar('\n');
        static const char *const titles[] = {
            [PUBLISHED_MAKER] = ", of each maker or cloud from what was fitted without it",
            [PUBLISHED_GENERATION] = ", of each generation of GPUs from what was fitted without it",
            [PUBLISHED_STRUCTURE] = ", of each way to join GPUs and nodes from what was fitted without it"};
        print_tables(titles[kin], 0);
    }
    if (how == 'l')
        print_unseen(a);
    arena_free(a);
    return 0;
}
