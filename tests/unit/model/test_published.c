/* model/model.c against nccl-tests results that operators published: errors of time by run and by size, which
 * may get better than the committed table but not worse.
 *
 * The errors found are written to build/model-errors.tsv, in the form of the table; build/perf/perf_model_truth -v
 * prints every row. Judges figures: not run with sanitizers. */
#include "core/stats.h"
#include "model/constants.h"
#include "probe/machines/hardware.h"
#include "tests/lib/corpus.h"
#include "tests/lib/published.h"
#include "tests/lib/refit.h"
#include "tests/lib/unit.h"

#define FOUND "build/model-errors.tsv"
#define TABLE "tests/fixtures/bench/model-errors.tsv"

enum { MOST_LINE = 4096 };

/* Decades of size that errors are told for, and the two ranges that have a target. */
static const struct {
    const char *name;
    uint64_t from, below;
} sizes[] = {
    {"1 B", 1, 100},
    {"100 B", 100, 1000},
    {"1 kB", 1000, 10000},
    {"10 kB", 10000, 100000},
    {"100 kB", 100000, 1000000},
    {"1 MB", 1000000, 10000000},
    {"10 MB", 10000000, 100000000},
    {"100 MB", 100000000, 1000000000},
    {"1 GB", 1000000000, 10000000000},
    {"10 GB", 10000000000, UINT64_MAX},
    {"below 1 MiB", 1, 1 << 20},
    {"from 64 MiB", 1 << 26, UINT64_MAX},
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static double errors[PUBLISHED_MOST]; /* log (predicted / published time) */
static int inside[PUBLISHED_MOST];    /* the band */

static void predict(int i)
{
    const struct published_row *r = &published_rows[i];
    struct model_time t;
    assert_int_equal(model_predict(published_runs[r->run].model, &r->call, &t), 0);
    errors[i] = log(t.us / r->us);
    inside[i] = r->us >= t.low_us && r->us <= t.high_us;
}

static int read_published(void)
{
    struct arena *a = arena_new(); /* stays: the models are in it */
    if (published_read(a)) {
        arena_free(a);
        return -1;
    }
    for (int i = 0; i < published_nrows; i++)
        predict(i);
    return 0;
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

/* Median |log| error as a factor of time, of rows of a run (-1: all) from `from` up to `below` bytes; 0 none. */
static double error_of(int run, uint64_t from, uint64_t below, int *n)
{
    static double found[PUBLISHED_MOST];
    *n = 0;
    for (int i = 0; i < published_nrows; i++)
        if ((run < 0 || published_rows[i].run == run) && published_rows[i].call.bytes >= from &&
            published_rows[i].call.bytes < below)
            found[(*n)++] = fabs(errors[i]);
    return *n ? exp(stats_median(found, *n)) : 0;
}

/* The factor that the committed table has for a run and a size; 0 none. */
static double committed(const char *run, const char *size)
{
    char line[MOST_LINE];
    double factor = 0;
    FILE *f = fopen(TABLE, "r");
    if (!f)
        return 0;
    while (fgets(line, sizeof line, f)) {
        char *at = line, *a = strsep(&at, "\t"), *b = at ? strsep(&at, "\t") : NULL;
        if (b && at && !strcmp(a, run) && !strcmp(b, size)) {
            strsep(&at, "\t");
            factor = at ? strtod(at, NULL) : 0;
        }
    }
    fclose(f);
    return factor;
}

/* Writes the errors of a run and returns how many got worse. */
static int compare(FILE *found, int run)
{
    const char *name = run < 0 ? "all runs" : published_runs[run].name;
    int worse = 0;
    for (int s = 0; s < SIZES; s++) {
        int n;
        double factor = error_of(run, sizes[s].from, sizes[s].below, &n), before = committed(name, sizes[s].name);
        if (!n)
            continue;
        fprintf(found, "%s\t%s\t%d\t%.3f\n", name, sizes[s].name, n, factor);
        /* The table is rounded, and other compilers round elsewhere. */
        if (before > 0 && factor <= before + 0.002)
            continue;
        print_error("%s, %s: off by a factor of %.3f, %.3f in %s\n", name, sizes[s].name, factor, before, TABLE);
        worse++;
    }
    return worse;
}

TEST_CASE(no_worse_than_committed)
{
    if (read_published())
        skip_because(NEEDS_CORPUS);
    assert_true(published_nrows > 1000);
    FILE *found = fopen(FOUND, "w");
    assert_non_null(found);
    fprintf(found, "# run\tsize from\trows\tmedian factor between predicted and published time\n");
    int worse = 0;
    for (int i = -1; i < published_nruns; i++)
        worse += compare(found, i);
    fclose(found);
    assert_int_equal(worse, 0);
}

/* A network's NICs are those of the results that its constants were fitted to. */
TEST_CASE(nics_of_fitted_results)
{
    unsigned seen[MODEL_NET_KINDS] = {0};
    const char *assumed;
    if (!published_nrows)
        skip_because(NEEDS_CORPUS);
    for (int i = 0; i < published_nruns; i++) {
        const struct nccl_model *n = published_runs[i].model->nccl;
        const struct topo_class *c = &n->setup.topology->classes[n->setup.class_index];
        if (n->nodes < 2 || n->setup.sockets)
            continue;
        enum model_net_kind kind = model_net_kind_of(c, &n->nets[0], &assumed);
        const struct hw_nic *hw = n->nets[0].object >= 0 ? hw_nic_of(&c->objects[n->nets[0].object]) : NULL;
        for (int k = 0; hw && k < 4 && model_nets[kind].nics[k]; k++)
            seen[kind] |= (unsigned)!strcmp(hw->name, model_nets[kind].nics[k]) << k;
        assert_int_equal(model_net_evidence(kind, c, &n->nets[0]), model_nets[kind].evidence);
    }
    for (int kind = 0; kind < MODEL_NET_KINDS; kind++)
        for (int k = 0; k < 4 && model_nets[kind].nics[k]; k++)
            assert_true(seen[kind] >> k & 1);
}

/* As many as are meant to be inside are, whatever the size: neither too few nor by a band that says nothing. */
static void assert_inside(double least, double most)
{
    static const uint64_t bounds[] = {0, 1 << 20, 1 << 26, UINT64_MAX};
    for (int k = 0; k < 3; k++) {
        int in = 0, n = 0;
        for (int i = 0; i < published_nrows; i++)
            if (published_rows[i].call.bytes >= bounds[k] && published_rows[i].call.bytes < bounds[k + 1]) {
                in += inside[i];
                n++;
            }
        print_message("from %llu bytes: the band holds %d of %d\n", (unsigned long long)bounds[k], in, n);
        assert_true(in >= least * n && in <= most * n);
    }
}

TEST_CASE(band_holds_nine_of_ten)
{
    if (!published_nrows)
        skip_because(NEEDS_CORPUS);
    assert_inside(0.85, 1); /* all were fitted to: more are inside than of others */
}

/* And so they are by what joins the GPUs, where there are enough rows to tell: too few inside means a band that is not
 * to be relied on there, whatever it is elsewhere. */
TEST_CASE(band_holds_by_fabric)
{
    int n[PUBLISHED_FABRICS] = {0}, in[PUBLISHED_FABRICS] = {0};
    if (!published_nrows)
        skip_because(NEEDS_CORPUS);
    for (int i = 0; i < published_nrows; i++) {
        struct model_time t;
        const struct published_run *run = &published_runs[published_rows[i].run];
        assert_int_equal(model_predict(run->model, &published_rows[i].call, &t), 0);
        int fabric = published_fabric(run, &t);
        n[fabric]++;
        in[fabric] += inside[i];
    }
    for (int i = 0; i < PUBLISHED_FABRICS; i++) {
        print_message("%s: the band holds %d of %d\n", published_fabrics[i], in[i], n[i]);
        assert_true(in[i] >= 0.85 * n[i]);
    }
}

/* A machine that is in no table: each is predicted from constants that were fitted to all others. */
TEST_CASE(band_holds_for_the_unknown)
{
    if (!published_nrows)
        skip_because(NEEDS_CORPUS);
    struct arena *a = arena_new();
    static char done[PUBLISHED_RUNS];
    for (int i = 0; i < published_nruns; i++) {
        const char *machine = published_runs[i].machine;
        if (done[i])
            continue;
        refit_without(PUBLISHED_MACHINE, machine, a);
        for (int k = i; k < published_nruns; k++)
            done[k] |= !strcmp(published_runs[k].machine, machine);
        for (int k = 0; k < published_nrows; k++)
            if (!strcmp(published_runs[published_rows[k].run].machine, machine))
                predict(k);
        refit_committed();
    }
    /* The fit is a descent: how a compiler rounds moves a few rows of 1 to 64 MiB, 84.7 % with one, 85.9 % with
     * another. */
    assert_inside(0.83, 0.99);
    arena_free(a);
}

/* ---- the ledger -------------------------------------------------------------------------------------------------- */

/* Return how many runs of the table that was read are not in the ledger with this use, launch and rows. */
static int count_unlisted(const char *use)
{
    int unlisted = 0;
    for (int run = 0; run < published_nruns; run++) {
        char hex[SHA256_HEX], line[MOST_LINE];
        int listed = 0;
        const char *launch = published_runs[run].launcher == MODEL_LAUNCH_UNKNOWN ? "assumed" : "stated";
        published_checksum(run, hex);
        FILE *f = fopen(PUBLISHED_LEDGER, "r");
        assert_non_null(f);
        while (!listed && fgets(line, sizeof line, f)) {
            char *at = line, *column[8] = {0};
            for (int i = 0; i < 8 && at; i++)
                column[i] = strsep(&at, "\t\n");
            listed = column[7] && !strcmp(column[0], published_runs[run].name) && !strcmp(column[1], use) &&
                     !strcmp(column[3], published_runs[run].machine) && !strcmp(column[4], launch) &&
                     !strncmp(column[6], hex, 16) && *column[7];
        }
        fclose(f);
        if (!listed)
            print_error("%s: not in " PUBLISHED_LEDGER " as '%s' on %s, launch %s, with %.16s\n",
                        published_runs[run].name, use, published_runs[run].machine, launch, hex);
        unlisted += !listed;
    }
    return unlisted;
}

TEST_CASE(every_run_is_in_the_ledger)
{
    if (!published_nrows)
        skip_because(NEEDS_CORPUS);
    assert_int_equal(count_unlisted("fit"), 0);
    struct arena *a = arena_new(); /* stays: the models are in it */
    if (published_read_unseen(a))
        arena_free(a);
    else
        assert_int_equal(count_unlisted("never"), 0);
}

TEST_CASES(test_published)
