/* The options that say what to measure and where. */
#include "cli/measure.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/engines/engines.h"
#include "core/coll.h"
#include "core/units.h"
#include "core/vars/catalogue.h"

static int take_collectives(const char *list, const char *what, void *out, struct err *e)
{
    unsigned *set = out;
    *set = 0;
    for (const char *p = list;; p++) {
        size_t n = strcspn(p, ",");
        int coll = coll_parse(p, n);
        if (coll < 0)
            return err_set(e, ERR_USAGE,
                           "%s: '%.*s' is none of allreduce, allgather, reducescatter, broadcast, reduce, alltoall",
                           what, (int)(n < 64 ? n : 64), p);
        *set |= 1u << coll;
        p += n;
        if (!*p)
            return 0;
    }
}

static int take_factor(const char *text, const char *what, void *out, struct err *e)
{
    char *end;
    double factor = strtod(text, &end);
    if (end == text || *end || !(factor >= 1.1 && factor <= 1e6))
        return err_set(e, ERR_USAGE, "%s: '%s' is not a number from 1.1 up", what, text);
    *(double *)out = factor;
    return 0;
}

static int take_ranks(const char *text, const char *what, void *out, struct err *e)
{
    long n = 0;
    int rc = unit_parse_int(text, 1, 4096, &n, what, e);
    *(int *)out = (int)n;
    return rc;
}

static int take_bytes(const char *text, const char *what, void *out, struct err *e)
{
    return unit_parse_bytes(text, out, what, e);
}

static int take_sizes(const char *list, const char *what, void *out, struct err *e)
{
    struct bench_size_list *sizes = out;
    char text[UNIT_TEXT];
    sizes->count = 0;
    for (const char *p = list;; p++) {
        size_t n = strcspn(p, ",");
        if (n >= sizeof text || sizes->count == BENCH_SIZES)
            return err_set(e, ERR_USAGE, "%s: expected up to %d sizes such as 8,64K,1M", what, BENCH_SIZES);
        snprintf(text, sizeof text, "%.*s", (int)n, p);
        int rc = unit_parse_bytes(text, &sizes->bytes[sizes->count++], what, e);
        p += n;
        if (rc || !*p)
            return rc;
    }
}

static int take_seconds(const char *text, const char *what, void *out, struct err *e)
{
    return unit_parse_seconds(text, out, what, e);
}

static int take_text(const char *text, const char *what, void *out, struct err *e)
{
    (void)what;
    (void)e;
    *(const char **)out = text;
    return 0;
}

static int take_flag(const char *text, const char *what, void *out, struct err *e)
{
    (void)text;
    (void)what;
    (void)e;
    *(int *)out = 1;
    return 0;
}

static const struct {
    const char *name; /* with the dashes, as errors call it */
    int (*take)(const char *text, const char *what, void *out, struct err *e);
    size_t member;
} options[] = {
    {"--engine", take_text, offsetof(struct bench_options, engine)},
    {"--collectives", take_collectives, offsetof(struct bench_options, collectives)},
    {"--min-bytes", take_bytes, offsetof(struct bench_options, min_bytes)},
    {"--max-bytes", take_bytes, offsetof(struct bench_options, max_bytes)},
    {"--step-factor", take_factor, offsetof(struct bench_options, step_factor)},
    {"--sizes", take_sizes, offsetof(struct bench_options, sizes)},
    {"--workload", take_text, offsetof(struct bench_options, workload)},
    {"--budget", take_seconds, offsetof(struct bench_options, budget_s)},
    {"--watchdog", take_seconds, offsetof(struct bench_options, watchdog_s)},
    {"--hosts", take_text, offsetof(struct bench_options, setup.hosts)},
    {"--hostfile", take_text, offsetof(struct bench_options, setup.hostfile)},
    {"--ranks-per-node", take_ranks, offsetof(struct bench_options, setup.ranks_per_node)},
    {"--interfaces", take_text, offsetof(struct bench_options, setup.interfaces)},
    {"--mpirun", take_text, offsetof(struct bench_options, setup.mpirun)},
    {"--mpirun-args", take_text, offsetof(struct bench_options, setup.mpirun_args)},
    {"--nccl", take_text, offsetof(struct bench_options, setup.nccl)},
    {"--launch-prefix", take_text, offsetof(struct bench_options, setup.launch_prefix)},
    {"--graphs", take_flag, offsetof(struct bench_options, setup.graphs)},
    {"--share-gpus", take_flag, offsetof(struct bench_options, setup.share_gpus)},
};
#define NOPTIONS (sizeof options / sizeof *options)

const struct option *cli_measure_options(const struct option *own, struct arena *a)
{
    size_t n = 0;
    while (own[n].name)
        n++;
    struct option *all = arena_alloc(a, (n + NOPTIONS + 1) * sizeof *all);
    memcpy(all, own, n * sizeof *all);
    for (size_t i = 0; i < NOPTIONS; i++)
        all[n + i] = (struct option){.name = options[i].name + 2,
                                     .has_arg = options[i].take == take_flag ? no_argument : required_argument,
                                     .val = CLI_OPT_MEASURE + (int)i};
    return all;
}

int cli_measure_take(int c, const char *arg, struct bench_options *o, struct err *e)
{
    size_t i = (size_t)(c - CLI_OPT_MEASURE);
    if (i >= NOPTIONS)
        return err_set(e, ERR_USAGE, "unknown option");
    int rc = options[i].take(arg, options[i].name, (char *)o + options[i].member, e);
    if (!rc && o->setup.hosts && o->setup.hostfile)
        rc = err_set(e, ERR_USAGE, "--hosts and --hostfile cannot be used together");
    return rc;
}

/* The largest size while nobody has said one, and where it costs nothing or is known to be needed. */
#define UNSAID  UINT64_MAX
#define LARGEST ((uint64_t)1 << 30)

void cli_measure_begin(struct bench_options *o)
{
    bench_options_default(o);
    o->max_bytes = UNSAID;
    o->collectives = 0;
}

int cli_measure_resolve_defaults(struct bench_options *o, int *low, int *high, struct err *e)
{
    struct bench_options usual;
    int predicts = bench_evidence_of(o->engine) == BENCH_PREDICTED, from, to;
    bench_options_default(&usual);
    if (o->max_bytes == UNSAID)
        o->max_bytes = predicts || o->workload ? LARGEST : usual.max_bytes;
    if (!o->collectives)
        o->collectives = o->workload ? ~0u : usual.collectives;
    if (predicts && (o->setup.hosts || o->setup.hostfile))
        return err_set(e, ERR_USAGE, "--hosts and --hostfile name nodes that are measured; --nodes is for predictions");
    if (!o->setup.nccl || env_version_parse(o->setup.nccl, &from, &to))
        return 0;
    if (!predicts && !low)
        return err_set(e, ERR_USAGE, "--nccl: '%s' is a release; expected the library that is measured", o->setup.nccl);
    o->setup.nccl_version = to;
    o->setup.nccl = NULL;
    if (low) {
        *low = from;
        *high = to;
    }
    return 0;
}
