/* The tables of nccl-tests and rccl-tests, with or without their heading: what was reached, on how many ranks. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/rules.h"
#include "core/coll.h"
#include "core/units.h"
#include "core/vars/parse.h"
#include "core/vars/text.h"

#define MOST_OTHERS 3 /* runs that are named beside the one that is judged */

static int is_number(const struct diag_fields *f, int i, double *value)
{
    const char *end = diag_number(f->at[i], value);
    return end && end == f->at[i] + f->len[i];
}

/* The run that a line belongs to: a new one in a new file, and where lines in front of a table follow rows. */
#define MOST_RUNS 1024
static struct diag_tests *run_of(struct diagnosis *d, int is_in_front)
{
    struct diag_tests *last = d->nruns ? &d->runs[d->nruns - 1] : NULL;
    if (last && (d->nruns == MOST_RUNS || (!strcmp(last->path, d->in->path) && !(is_in_front && last->rows))))
        return last;
    struct diag_tests *t = &ARENA_ADD(d->arena, d->runs, d->nruns);
    *t = (struct diag_tests){.path = arena_strdup(d->arena, d->in->path), .coll = -1};
    return t;
}

/* "  8388608  2097152  float  sum  -1  231.4  36.24  36.24  0 ..." of any release: type is the third word, and the last
 * four or eight words are time, algbw, busbw and the number of wrong values. */
static int read_row(struct diagnosis *d, const char *line)
{
    static const char types[] =
        "int8|uint8|int32|uint32|int64|uint64|half|float|double|bfloat16|fp8_e4m3|fp8_e5m2|f8e4m3|"
        "f8e5m2|char|int|fp8_e4m3fn";
    struct diag_fields f;
    double bytes, count, time_us, algbw, busbw, wrong;
    int n = diag_split(&f, line, DIAG_BLANKS), at = n >= 11 ? n - 8 : n - 4;
    if (n < 7 || n > 13 || at < 3 || !diag_is_one_of(types, f.at[2], f.len[2]) || !is_number(&f, 0, &bytes) ||
        !is_number(&f, 1, &count) || !is_number(&f, at, &time_us) || !is_number(&f, at + 1, &algbw) ||
        !is_number(&f, at + 2, &busbw))
        return 0;
    struct diag_tests *t = run_of(d, 0);
    d->tests.rows++;
    if (is_number(&f, at + 3, &wrong) && wrong > 0.1 && !d->tests.wrong++) /* older releases print a small error */
        diag_here(d, d->tests.wrong_place);
    import_clue_row(&t->clues, at > 3 ? f.at[3] : "", at > 4 ? f.at[4] : "", algbw, busbw);
    if (!t->rows++ || busbw > t->busbw_GBps) { /* 0 for all sizes, where one GPU has nobody to send to */
        t->busbw_GBps = busbw;
        t->bytes = bytes;
        t->time_us = time_us;
        diag_here(d, t->place);
    }
    return 1;
}

static void note_host(struct diagnosis *d, struct diag_tests *t, const char *name, size_t len)
{
    for (int i = t->nhosts - 1; i >= 0; i--)
        if (strlen(t->hosts[i]) == len && !strncmp(t->hosts[i], name, len))
            return;
    ARENA_ADD(d->arena, t->hosts, t->nhosts) = arena_strndup(d->arena, name, len);
}

/* "#  Rank  0 Group  0 Pid  100 on  node1 device  0 [0x18] NVIDIA H100" */
static int read_rank(struct diagnosis *d, const char *line)
{
    const char *rank = *line == '#' ? strstr(line, "Rank ") : NULL, *on = rank ? strstr(rank, " on ") : NULL;
    if (!on || !strstr(on, " device "))
        return 0;
    struct diag_tests *t = run_of(d, 1);
    int before = t->nhosts;
    const char *gpu = strchr(on, ']');
    if (gpu && !t->gpu)
        t->gpu = arena_strdup(d->arena, gpu + 1 + strspn(gpu + 1, " "));
    on += 4 + strspn(on + 4, " ");
    note_host(d, t, on, strcspn(on, " "));
    /* Rank 0 of another node than the first one's. */
    if (strtol(rank + 5, NULL, 10) == 0 && t->ranks && !*t->twin_place && t->nhosts > before)
        diag_here(d, t->twin_place);
    t->ranks++;
    return 1;
}

int diag_read_nccl_tests(struct diagnosis *d, const char *line)
{
    const int named = import_named(line);
    if (named >= 0)
        run_of(d, 1)->clues.programs = 1u << named;
    return read_row(d, line) || read_rank(d, line);
}

/* ---- NCCL Inspector: a line of JSON for each collective of each rank --------------------------------------------- */

int diag_read_inspector(struct diagnosis *d, const char *line)
{
    struct diag_tests *t = &d->tests;
    struct diag_inspector *x = &d->inspector;
    const char *perf = strstr(line, "\"coll_perf\""), *name = perf ? strstr(perf, "\"coll\"") : NULL;
    if (!name)
        return 0;
    name += 6 + strspn(name + 6, ": \"");
    double busbw = diag_number_behind(perf, "\"coll_busbw_gbs\""),
           time_us = diag_number_behind(perf, "\"coll_exec_time_us\"");
    double ranks = diag_number_behind(line, "\"n_ranks\""), rank = diag_number_behind(line, "\"rank\"");
    const char *host = strstr(line, "\"hostname\"");
    t->rows++;
    t->is_inspector = 1;
    if (host) {
        host += 10 + strspn(host + 10, ": \"");
        note_host(d, t, host, strcspn(host, "\""));
    }
    if (busbw > t->busbw_GBps) {
        t->busbw_GBps = busbw;
        t->bytes = diag_number_behind(perf, "\"coll_msg_size_bytes\"");
        t->program = arena_strndup(d->arena, name, strcspn(name, "\""));
        diag_here(d, t->place);
    }
    const char *id = strstr(line, "\"id\"");
    long number = id ? strtol(id + 4 + strspn(id + 4, ": \""), NULL, 16) : 0;
    if (!(ranks >= 1 && ranks <= DIAG_RANKS) || !(rank >= 0 && rank < ranks) || !(time_us > 0 && time_us < 1e12) ||
        ranks < x->ranks || (x->of && ranks == x->ranks && number != x->id))
        return 1;
    if (!x->of)
        x->of = arena_alloc(d->arena, DIAG_RANKS * sizeof *x->of);
    if (ranks > x->ranks)
        memset(x->of, 0, DIAG_RANKS * sizeof *x->of);
    x->id = number;
    t->ranks = x->ranks = (int)ranks;
    x->of[(int)rank].time_us += time_us;
    x->of[(int)rank].n++;
    diag_here(d, x->place);
    return 1;
}

/* ---- what the runs reach ----------------------------------------------------------------------------------------- */

/* The bundled machine that nodes with eight of these GPUs most likely are; NULL. */
static const char *machine_of(const struct diag_tests *t)
{
    static const char *const known[][2] = {{"H100 80GB HBM3", "dgx-h100"},
                                           {"H200", "dgx-h200"},
                                           {"B200", "dgx-b200"},
                                           {"A100-SXM4-80GB", "dgx-a100"},
                                           {"A100-SXM4-40GB", "dgx-a100-40"}};
    const char *gpu = t->gpu && !strncmp(t->gpu, "NVIDIA ", 7) ? t->gpu + 7 : t->gpu; /* older drivers leave it out */
    for (size_t i = 0; gpu && t->nhosts && t->ranks == 8 * t->nhosts && i < sizeof known / sizeof *known; i++)
        if (!strcmp(gpu, known[i][0]))
            return known[i][1];
    return NULL;
}

/* The collective, as `nccltune results` finds it: of programs that are named elsewhere, `named`, where none is here. */
static void find_collective(struct diag_tests *t, unsigned named)
{
    t->clues.programs = t->clues.programs ? t->clues.programs : named;
    t->colls = import_clue_colls(&t->clues, t->path, t->ranks);
    t->coll = t->colls && !(t->colls & (t->colls - 1)) ? import_likeliest(t->colls) : -1;
    if (t->coll >= 0 && t->clues.programs >> t->coll & 1)
        t->program = import_program_name(t->coll);
}

int diag_is_below(const struct diag_tests *t)
{
    return t->expected.at > 0 && t->busbw_GBps < t->expected.low;
}

static double times_below(const struct diag_tests *t)
{
    return diag_is_below(t) ? t->expected.at / t->busbw_GBps : 0;
}

void diag_judge_tests(struct diagnosis *d)
{
    struct diag_tests all = d->tests, *worst = NULL;
    unsigned named = 0;
    for (int i = 0; i < d->nruns; i++)
        named |= d->runs[i].clues.programs;
    for (int i = 0; i < d->nruns; i++) {
        struct diag_tests *t = &d->runs[i];
        if (!t->rows)
            continue;
        all.runs++;
        find_collective(t, named);
        t->machine = machine_of(t);
        diag_expect_tests(d, t);
        if (!worst || times_below(t) > times_below(worst) || (!times_below(worst) && t->busbw_GBps > worst->busbw_GBps))
            worst = t;
        if (*t->twin_place && !*all.twin_place)
            memcpy(all.twin_place, t->twin_place, sizeof all.twin_place);
    }
    if (!worst)
        return;
    d->tests = *worst;
    d->tests.runs = all.runs;
    d->tests.rows = all.rows;
    d->tests.wrong = all.wrong;
    memcpy(d->tests.wrong_place, all.wrong_place, sizeof all.wrong_place);
    memcpy(d->tests.twin_place, all.twin_place, sizeof all.twin_place);
}

/* "; beside it all_gather_perf 341.2 GB/s on 8 ranks (330 to 350 predicted), ...": the other runs of the logs. */
static void say_other_runs(const struct diagnosis *d, char to[DIAG_SENTENCE])
{
    int n = 0;
    for (int i = 0; i < d->nruns && n < MOST_OTHERS; i++) {
        const struct diag_tests *t = &d->runs[i];
        if (!t->rows || !strcmp(t->place, d->tests.place))
            continue;
        diag_say(to, "%s%s %.1f GB/s", n++ ? ", " : "; beside it ", t->program ? t->program : "a table with",
                 t->busbw_GBps);
        if (t->ranks)
            diag_say(to, " on %d ranks", t->ranks);
        if (t->expected.at > 0)
            diag_say(to, " (%.0f to %.0f predicted)", t->expected.low, t->expected.high);
    }
    diag_say(to, d->tests.runs > n + 1 ? ", and more" : "");
}

void diag_say_tests(const struct diagnosis *d, char to[DIAG_SENTENCE])
{
    const struct diag_tests *t = &d->tests;
    const struct diag_range *x = &t->expected;
    char size[UNIT_TEXT];
    diag_say(to, "%s reaches a bus bandwidth of %.1f GB/s at %s", t->program ? t->program : "nccl-tests", t->busbw_GBps,
             unit_bytes(size, t->bytes > 0 && t->bytes < 1e18 ? (uint64_t)t->bytes : 0));
    if (t->ranks)
        diag_say(to, " on %d ranks of %d node%s", t->ranks, t->nhosts, t->nhosts == 1 ? "" : "s");
    else if (import_clue_ranks(&t->clues))
        diag_say(to, " on %d ranks (busbw over algbw is %.2f)", import_clue_ranks(&t->clues), t->clues.ratio);
    if (!t->program && t->colls)
        diag_say(to, ", as of %s", import_coll_names(t->colls, d->arena));
    const char *nodes = d->assumed ? t->machine : "these";
    if (diag_is_below(t))
        diag_say(to, ": %.1fx below the %.0f GB/s predicted for %s nodes (%.0f to %.0f)", times_below(t), x->at, nodes,
                 x->low, x->high);
    else if (x->at > 0)
        diag_say(to, ": %s the %.0f to %.0f GB/s predicted for %s nodes", t->busbw_GBps > x->high ? "above" : "within",
                 x->low, x->high, nodes);
    say_other_runs(d, to);
    diag_say(to, ".");
}

/* ---- findings ---------------------------------------------------------------------------------------------------- */

/* What the best row should have taken, and how to tune from the table. */
static const char *next_commands(struct diagnosis *d)
{
    const struct diag_tests *t = &d->tests;
    const char *file = *t->path == '(' ? "FILE" : env_shell_word(d->arena, t->path), *machine = t->machine;
    const uint64_t bytes = t->bytes < 1e15 ? (uint64_t)t->bytes : 0, MiB = 1 << 20;
    const int is_short = t->time_us < 1e4;
    const char *results = arena_printf(d->arena, "nccltune results %s", file);
    if (!t->ranks)
        results = arena_printf(d->arena, "%s --nodes N%s", results, import_clue_ranks(&t->clues) ? "" : " --ranks N");
    if (t->coll < 0 && t->colls)
        results = arena_printf(d->arena, "%s --collective %s", results, coll_name(import_likeliest(t->colls)));
    if (!machine || t->coll < 0 || !bytes)
        return results;
    return arena_printf(
        d->arena, "nccltune whatif --machine %s --nodes %d -c %s --bytes %" PRIu64 "%s --measured %.1f%s; %s", machine,
        t->nhosts, coll_name(t->coll), bytes % MiB ? bytes : bytes / MiB, bytes % MiB ? "" : "M",
        is_short ? t->time_us : t->time_us / 1e3, is_short ? "us" : "ms", results);
}

/* How many HCAs the job may use: of NCCL_IB_HCA, else of topo -m or NCCL's log. */
static int hca_count(const struct diagnosis *d)
{
    const struct diag_variable *v = diag_find_variable(d, "NCCL_IB_HCA");
    struct env_devices named;
    env_parse_devices(v ? v->value : "", &named);
    return named.count && !named.exclude ? named.count : d->topo_nics > d->nccl.nhcas ? d->topo_nics : d->nccl.nhcas;
}

/* A kernel of NCCL waits for the last rank, whose own is the shortest. */
static void judge_late_rank(struct judge *j)
{
    const struct diag_inspector *x = &j->d->inspector;
    double least_us = INFINITY, sum_us = 0;
    int ranks = 0, late = 0;
    for (int r = 0; x->of && r < x->ranks; r++) {
        double mean_us = x->of[r].n ? x->of[r].time_us / (double)x->of[r].n : 0;
        if (x->of[r].n < 10)
            continue;
        ranks++;
        sum_us += mean_us;
        if (mean_us < least_us) {
            least_us = mean_us;
            late = r;
        }
    }
    double others_us = ranks > 2 ? (sum_us - least_us) / (ranks - 1) : 0;
    if (least_us < others_us / 1.5)
        diag_found(j, "late-rank", 0.5 * (1 - least_us / others_us), x->place,
                   "rank %d comes last to the collectives: %.3g ms in them, the others %.3g ms, waiting for it", late,
                   least_us / 1e3, others_us / 1e3);
}

/* The port of a DGX Spark is two HCAs of 100 Gb/s each, on PCIe links of their own. */
#define SPARK_GBps  20       /* more than one of them reaches, */
#define SPARK_BYTES 67108864 /* from this size on */

void diag_add_tests(struct judge *j)
{
    const struct diag_tests *t = &j->d->tests;
    const struct diag_variable *v = t->slow_variable;
    const int is_below = diag_is_below(t), is_explained = v && t->busbw_GBps >= t->with_it.low, hcas = hca_count(j->d);
    const double missing = is_below ? 1 - t->busbw_GBps / t->expected.at : 0;
    if (is_below && v)
        diag_found(j, "slow-variable", missing, v->place,
                   "%s=%s %s: with it %.0f GB/s (%.0f to %.0f) are predicted, without it %.0f", v->name, v->value,
                   is_explained ? "explains this" : "is a part of it", t->with_it.at, t->with_it.low, t->with_it.high,
                   t->expected.at);
    if (is_below && !is_explained)
        diag_found(j, "below-expected", 0.9 * missing, t->place, "no variable in this log explains %.1f GB/s",
                   t->busbw_GBps)
            ->command = next_commands(j->d);
    if (t->wrong)
        diag_found(j, "wrong-values", 0.9, t->wrong_place, "nccl-tests counts wrong values in %ld of %ld sizes",
                   t->wrong, t->rows);
    if (*t->twin_place) /* rank 0 on two nodes: every process is a job of its own */
        diag_found(j, "separate-runs", 0.9, t->twin_place, "each node ran nccl-tests alone: rank 0 exists on %d nodes",
                   t->nhosts);
    if (t->gpu && strstr(t->gpu, "NVIDIA GB10") && t->nhosts > 1 && t->bytes >= SPARK_BYTES &&
        t->busbw_GBps < SPARK_GBps)
        diag_found(j, "half-a-port", 0.5, t->place,
                   "DGX Spark (GB10): one QSFP port is two HCAs of about 100 Gb/s each, such as rocep1s0f0 and "
                   "roceP2p1s0f0, and its 24 GB/s need both; measured: %.1f GB/s",
                   t->busbw_GBps);
    judge_late_rank(j);
    if (t->rows && t->nhosts > 1 && t->ranks == t->nhosts && hcas > 1)
        diag_found(j, "one-gpu-a-node", 0.5, t->place,
                   "the run has one GPU a node and %d HCAs: a GPU drives the HCAs at its own PCIe switch, and its PCIe "
                   "slot is the limit (about 25 GB/s with Gen 4, 50 GB/s with Gen 5); measured: %.1f GB/s",
                   hcas, t->busbw_GBps);
    if (t->rows && !t->is_inspector && !(is_below && !v)) /* "below-expected" has the same commands */
        diag_found(j, "nccl-tests", 0.02, t->place, "%s of nccl-tests with %ld sizes",
                   t->runs > 1 ? arena_printf(j->d->arena, "%d tables", t->runs) : "a table", t->rows)
            ->command = next_commands(j->d);
}
