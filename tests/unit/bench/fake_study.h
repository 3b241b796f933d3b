/* A whole run of the fake engine, with a journal in a directory of its own. */
#pragma once

#include <unistd.h>

#include "bench/results/known.h"
#include "bench/search/study.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/fake_engine.h"

static char fake_dir[] = "/dev/shm/test_study_XXXXXX"; /* every line is brought to disk */
static char fake_path[64];

static int fake_setup(void **state)
{
    return mkdtemp(fake_dir) ? snprintf(fake_path, sizeof fake_path, "%s/r.jsonl", fake_dir) < 0 : -1;
}

static int fake_teardown(void **state)
{
    unlink(fake_path);
    return rmdir(fake_dir);
}

struct fake_run {
    struct bench_options options;
    struct bench_journal journal;
    struct bench_summary summary;
    struct bench_study study;
    struct err err;
};

/* Opens the journal (anew, or what is there with `resume`) and fills the study; launches after the default as named. */
static inline void fake_begin(struct fake_run *f, int resume, const char *const *launches, int nlaunches)
{
    memset(f, 0, sizeof *f);
    bench_options_default(&f->options);
    f->options.collectives = 1u << COLL_ALLREDUCE;
    f->options.max_bytes = 1 << 20;
    f->options.budget_s = 60;
    if (!resume)
        unlink(fake_path);
    if (bench_journal_open(&f->journal, fake_path, "", 0, resume, NULL, &f->err))
        abort();
    struct bench_study *s = &f->study;
    *s = (struct bench_study){.options = &f->options,
                              .engine = &fake_engine,
                              .journal = &f->journal,
                              .stop = &fake.stop,
                              .summary = &f->summary};
    s->results = f->journal.results;
    f->summary.resumed = s->results->count;
    s->arena = s->results->arena;
    fake_plan(NULL, s->arena, &s->plan, &f->err);
    struct bench_knobs *list = arena_alloc(s->arena, (size_t)(nlaunches + 1) * sizeof *list);
    list[0] = s->plan.launches[0];
    for (int i = 0; i < nlaunches; i++)
        list[i + 1] = (struct bench_knobs){.label = launches[i]};
    s->plan.launches = list;
    s->plan.nlaunches = nlaunches + 1;
    s->sizes = bench_sizes(&f->options, s->arena, &s->nsizes);
    s->time.started_s = progress_now_s();
    s->time.deadline_s = s->time.started_s + f->options.budget_s;
}

/* As after a first session that has told nodes and ranks. */
static inline void fake_know(struct fake_run *f, int nodes, int ranks)
{
    f->study.nodes = nodes;
    f->study.ranks = ranks;
    if (search_shapes_take(&f->study, &f->err))
        abort();
    study_list_points(&f->study);
}

static inline void fake_end(struct fake_run *f)
{
    bench_journal_close(&f->journal);
}

/* Lines of the run with this status; NULL and 0 mean any. */
static inline int fake_count(const struct fake_run *f, const char *launch, const char *call, uint64_t bytes, int status)
{
    int n = 0;
    for (int i = 0; i < f->study.results->count; i++) {
        const struct bench_result *r = &f->study.results->items[i];
        n += (!launch || !strcmp(r->launch.label, launch)) && (!call || !strcmp(r->call.label, call)) &&
             (!bytes || r->bytes == bytes) && (status < 0 || (int)r->status == status);
    }
    return n;
}

/* Lines that say the same thing about the same place in the same round: measured twice. Sessions that tell launches
 * apart go over the default call as often as they like. */
static inline int fake_repeated(const struct fake_run *f)
{
    const struct bench_result *r = f->study.results->items;
    int n = 0;
    for (int i = 0; i < f->study.results->count; i++)
        for (int k = 0; k < i; k++)
            n += strcmp(r[i].call.label, BENCH_DEFAULT) && r[i].ntimes && r[k].ntimes && r[i].bytes == r[k].bytes &&
                 r[i].buffers == r[k].buffers && r[i].round == r[k].round && r[i].coll == r[k].coll &&
                 r[i].nodes == r[k].nodes && r[i].ranks == r[k].ranks && r[i].others == r[k].others &&
                 !strcmp(r[i].launch.label, r[k].launch.label) && !strcmp(r[i].call.label, r[k].call.label);
    return n;
}
