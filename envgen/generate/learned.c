/* Journals of jobs: which calls they agree on. */
#include "envgen/generate/learned.h"

#include <dirent.h>
#include <string.h>

#include "bench/results/journal.h"
#include "core/coll.h"
#include "core/file.h"
#include "core/stats.h"
#include "core/units.h"

#define MARK    ".learned."
#define ENDING  ".jsonl"
#define LEAST   2 /* jobs */
#define SAMPLES 256
#define LIMIT   ((size_t)64 << 20)

struct line {
    int job, first; /* first: the first line of the same call */
    double gain;    /* of the median: NCCL's own choice over this; 0: it is that, or nobody knows */
    enum verdict { OF_NOTHING, OF_ONE, AGREED } verdict; /* of all lines of the call */
};

struct lines {
    struct bench_results *all;
    struct line *of; /* each of those */
    int known, njobs;
    const char **jobs;
};

/* The number of the job in a file's name; -1: it is none of ours. */
static int job_of(struct lines *l, const char *file)
{
    const char *mark = strstr(file, MARK);
    size_t n = strlen(file), ending = strlen(ENDING);
    if (!mark || mark == file || *file == '.' || n < ending || strcmp(file + n - ending, ENDING) != 0)
        return -1;
    const char *name = arena_strndup(l->all->arena, file, (size_t)(mark - file));
    for (int i = 0; i < l->njobs; i++)
        if (!strcmp(l->jobs[i], name))
            return i;
    l->jobs = arena_grow(l->all->arena, l->jobs, (size_t)l->njobs, sizeof *l->jobs);
    l->jobs[l->njobs] = name;
    return l->njobs++;
}

/* Of the quotients, call by call. */
static double gain_of(const struct bench_result *r)
{
    double q[SAMPLES];
    int n = r->nbeside < r->ntimes ? r->nbeside : r->ntimes;
    n = n < SAMPLES ? n : SAMPLES;
    for (int i = 0; i < n; i++)
        q[i] = r->beside_us[r->nbeside - n + i] / r->times_us[r->ntimes - n + i];
    return n > 0 ? stats_median(q, n) : 0;
}

static double median_of(const struct bench_result *r)
{
    double us[SAMPLES];
    int n = r->ntimes < SAMPLES ? r->ntimes : SAMPLES;
    for (int i = 0; i < n; i++)
        us[i] = r->times_us[i];
    return n > 0 ? stats_median(us, n) : 0;
}

static int same_place(const struct bench_result *x, const struct bench_result *y)
{
    return x->coll == y->coll && x->bytes == y->bytes && x->nodes == y->nodes && x->ranks == y->ranks &&
           !strcmp(x->library, y->library);
}

static int first_like(const struct lines *l, int line)
{
    const struct bench_result *all = l->all->items, *r = &all[line];
    for (int i = 0; i < line; i++)
        if (same_place(&all[i], r) && !strcmp(all[i].call.label, r->call.label))
            return i;
    return line;
}

/* Of what nothing was measured beside: by NCCL's own choice in the same file, which is that from `first` on. */
static void compare_medians(struct lines *l, int first)
{
    const struct bench_result *all = l->all->items;
    for (int i = first; i < l->known; i++)
        for (int k = first; !(l->of[i].gain > 0) && strcmp(all[i].call.label, BENCH_DEFAULT) != 0 && k < l->known; k++)
            if (!strcmp(all[k].call.label, BENCH_DEFAULT) && same_place(&all[k], &all[i]) && all[i].ntimes)
                l->of[i].gain = median_of(&all[k]) / median_of(&all[i]);
}

/* What cannot be read is named and left out. */
static void read_file(struct lines *l, const char *dir, const char *file, struct log *log)
{
    int job = job_of(l, file), first = l->known;
    const char *path = arena_printf(l->all->arena, "%s/%s", dir, file);
    struct err broken = {0};
    char *text;
    size_t bytes;
    if (job < 0)
        return;
    if (file_read_text(path, LIMIT, l->all->arena, &text, &bytes, &broken) ||
        bench_results_take(l->all, path, text, bytes, log, &broken))
        log_warn(log, "%s; left out", broken.text);
    for (; l->known < l->all->count; l->known++) {
        l->of = arena_grow(l->all->arena, l->of, (size_t)l->known, sizeof *l->of);
        l->of[l->known] = (struct line){job, first_like(l, l->known), gain_of(&l->all->items[l->known]), OF_NOTHING};
    }
    compare_medians(l, first);
}

/* AGREED: two jobs at least have found it faster, and none has not. */
static enum verdict judge(const struct lines *l, int first, struct log *log)
{
    const struct bench_result *r = &l->all->items[first];
    char *found = arena_alloc(l->all->arena, (size_t)l->njobs), size[UNIT_TEXT];
    double least = 0;
    int jobs = 0, slower = 0;
    for (int i = first; i < l->known; i++) {
        const struct line *x = &l->of[i];
        slower |= x->first == first && x->gain > 0 && x->gain <= 1;
        if (x->first != first || !(x->gain > 1))
            continue;
        jobs += !found[x->job];
        found[x->job] = 1;
        least = least > 0 && least < x->gain ? least : x->gain;
    }
    if (jobs < LEAST || slower)
        return jobs ? OF_ONE : OF_NOTHING;
    log_info(log, "%s of %s on %d nodes, %d ranks: %s was at least %.2fx faster in %d jobs", coll_name(r->coll),
             unit_bytes(size, r->bytes), r->nodes, r->ranks, r->call.label, least, jobs);
    return AGREED;
}

/* How a job ran, where there is something that it agrees on. */
static int is_beside_agreed(const struct lines *l, int line)
{
    const struct bench_result *all = l->all->items;
    for (int i = 0; i < l->known; i++)
        if (l->of[i].verdict == AGREED && l->of[i].gain > 0 && l->of[i].job == l->of[line].job &&
            same_place(&all[i], &all[line]))
            return 1;
    return 0;
}

static int write_agreed(const struct lines *l, struct bench_journal *j, struct env_learned *done, struct log *log,
                        struct err *e)
{
    int rc = 0;
    for (int i = 0; i < l->known; i++) {
        struct line *x = &l->of[i];
        x->verdict = x->first < i ? l->of[x->first].verdict : judge(l, i, log);
        done->agreed += x->verdict == AGREED && x->first == i;
        done->alone += x->verdict == OF_ONE && x->first == i;
    }
    for (int i = 0; i < l->known && !rc; i++)
        if (l->of[i].gain > 0 ? l->of[i].verdict == AGREED : is_beside_agreed(l, i))
            rc = bench_journal_append(j, &l->all->items[i], e);
    return rc;
}

int env_learned_merge(const char *dir, const char *path, struct env_learned *done, struct log *log, struct err *e)
{
    struct bench_journal j;
    struct arena *a = arena_new();
    struct lines l = {.all = ARENA_NEW(a, struct bench_results)};
    DIR *d = opendir(dir);
    *done = (struct env_learned){0};
    l.all->arena = a;
    for (const struct dirent *entry = d ? readdir(d) : NULL; entry; entry = readdir(d))
        read_file(&l, dir, entry->d_name, log);
    int rc = d ? bench_journal_open(&j, path, "", 0, log, e) : err_errno(e, "%s: cannot be read", dir);
    if (!rc) {
        rc = write_agreed(&l, &j, done, log, e);
        bench_journal_close(&j);
    }
    if (d)
        closedir(d);
    done->jobs = l.njobs;
    arena_free(a);
    return rc;
}
