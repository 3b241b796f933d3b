/* What a job leaves: a line for each finding, and its record. */
#include "tuner/observe/conclude.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "tuner/observe/judge.h"

#define EARLIER   16  /* jobs that are read */
#define SAID      3   /* lines */
#define FOUND     64  /* findings of a kind in the record */
#define TOGETHER  120 /* seconds within which the ranks of a job begin; what is older is of another with its name */
#define PATH_SIZE 4608

/* ---- what ranks and earlier jobs have left ----------------------------------------------------------------------- */

/* 1: the rank's file is in the job. */
static int gather_rank(const struct observe_end *e, int rank, int even_if_it_goes_on, struct observe_job *j)
{
    char path[PATH_SIZE];
    struct observe_head h;
    size_t bytes;
    snprintf(path, sizeof path, "%s/%s.rank.%d.json", e->dir, e->name, rank);
    char *text = observe_read(path, &bytes);
    int is_wanted = text && !observe_head(text, bytes, &h) && h.began + TOGETHER >= e->began &&
                    (h.ended || even_if_it_goes_on) && !observe_add(j, text, bytes);
    free(text);
    return is_wanted;
}

static void gather(const struct observe_end *e, struct observe_job *j)
{
    int ranks = e->ranks < OBSERVE_RANKS ? e->ranks : OBSERVE_RANKS, missing = ranks;
    char *have = calloc((size_t)ranks, 1);
    uint64_t until = clock_now_ns() + e->patience_ns;
    uint64_t pause_ns = 25000000; /* and twice that each time: a directory may be on a server that all jobs share */
    for (int last = 0; have && missing; pause_ns *= 2) {
        for (int rank = 0; rank < ranks; rank++) {
            if (have[rank] || !gather_rank(e, rank, last, j))
                continue;
            have[rank] = 1;
            missing--;
        }
        if (last)
            break;
        uint64_t now = clock_now_ns(), left = until > now ? until - now : 0;
        last = left <= pause_ns;
        uint64_t ns = last ? left : pause_ns;
        nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)}, NULL);
    }
    j->cut |= ranks < e->ranks;
    free(have);
}

struct earlier {
    char names[EARLIER][OBSERVE_NAME]; /* of files, the latest job's first */
    struct observe_job jobs[EARLIER];
    struct observe_earlier points[EARLIER];
    size_t count;
};

static void read_earlier(const struct observe_end *e, struct earlier *b)
{
    char path[PATH_SIZE];
    b->count = observe_latest(e->dir, "*" OBSERVE_ENDING, e->name, b->names, EARLIER);
    for (size_t i = 0; i < b->count; i++) {
        size_t bytes;
        snprintf(path, sizeof path, "%s/%s", e->dir, b->names[i]);
        char *text = observe_read(path, &bytes);
        if (text && !observe_add(&b->jobs[i], text, bytes))
            b->points[i].points = observe_points(&b->jobs[i], &b->points[i].count);
        free(text);
    }
}

/* ---- what is said and kept --------------------------------------------------------------------------------------- */

struct findings {
    struct observe_late late[FOUND];
    struct observe_drift drifts[FOUND];
    size_t nlate, ndrifts;
    const struct observe_point *points;
    size_t npoints;
};

static void print_sentence(const char *job, const char *sentence)
{
    char line[OBSERVE_SENTENCE + 128];
    int n = snprintf(line, sizeof line, "nccltune: job %s: %s\n", job, sentence);
    ssize_t written = n > 0 ? write(STDERR_FILENO, line, (size_t)n) : 0;
    (void)written; /* there is nobody to tell */
}

static void word_finding(const struct findings *f, size_t i, char to[OBSERVE_SENTENCE])
{
    if (i < f->nlate)
        observe_say_late(&f->late[i], to);
    else
        observe_say_drift(&f->drifts[i - f->nlate], to);
}

static void say_all(const struct observe_end *e, const struct findings *f)
{
    char sentence[OBSERVE_SENTENCE];
    size_t said = 0, all = f->nlate + f->ndrifts;
    for (size_t i = 0; i < all && said < SAID; i++) {
        if (i < f->nlate && said == SAID - 1 && f->ndrifts)
            continue; /* one line is for a drift */
        word_finding(f, i, sentence);
        print_sentence(e->name, sentence);
        said++;
    }
    if (said == all)
        return;
    snprintf(sentence, sizeof sentence, "%zu more in %.300s/%s%s", all - said, e->dir, e->name, OBSERVE_ENDING);
    print_sentence(e->name, sentence);
}

/* A workload of the whole job, and what was found: sentences of printable ASCII without quotes. */
static void put_record(struct observe_text *t, const struct observe_end *e, const struct observe_job *j,
                       const struct findings *f)
{
    char sentence[OBSERVE_SENTENCE];
    observe_put(t, "{\n  \"format\": \"nccltune-workload/1\",\n  \"name\": \"%s\",\n  \"source\": \"observed\",\n",
                e->name);
    observe_put(t, "  \"began\": %llu,\n  \"ranks\": %d,\n  \"ranks_per_node\": %d,\n  \"counts_per\": \"run\",\n",
                (unsigned long long)j->began, e->ranks, j->per_node > 0 ? j->per_node : 1);
    observe_put(t, "  \"ranks_read\": %zu,\n  \"basis\": \"%s\",\n  \"findings\": [", j->nranks,
                observe_basis_name(observe_basis(j)));
    for (size_t i = 0; i < f->nlate + f->ndrifts; i++) {
        word_finding(f, i, sentence);
        observe_put(t, "%s\n    \"%s\"", i ? "," : "", sentence);
    }
    observe_put(t, "],\n  \"phases\": [\n    {\n      \"name\": \"run\",\n      \"collectives\": [");
    for (size_t i = 0; i < f->npoints; i++) {
        struct observe_call c = f->points[i].call;
        c.group = 0; /* of all */
        c.steady_us = c.total_us = -1;
        observe_put_call(t, &c, i == 0);
    }
    observe_put(t, "]\n    }\n  ]\n}\n");
}

static void keep_record(const struct observe_end *e, const struct observe_job *j, const struct findings *f)
{
    struct observe_text t = {0};
    char path[PATH_SIZE], beside[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s" OBSERVE_ENDING, e->dir, e->name);
    snprintf(beside, sizeof beside, "%s/.%s.observed.%d", e->dir, e->name, e->pid);
    put_record(&t, e, j, f);
    observe_write(&t, beside, path);
    free(t.text);
}

void observe_conclude(const struct observe_end *e)
{
    struct observe_job j = {0};
    struct findings *f = calloc(1, sizeof *f);
    struct earlier *before = calloc(1, sizeof *before);
    struct observe_point *points = NULL;
    if (f && before) {
        gather(e, &j);
        f->points = points = observe_points(&j, &f->npoints);
        read_earlier(e, before);
        f->nlate = observe_late(&j, f->late, FOUND);
        f->ndrifts = observe_drifts(points, f->npoints, before->points, before->count, f->drifts, FOUND);
        say_all(e, f);
        if (j.nranks)
            keep_record(e, &j, f);
        for (size_t i = 0; i < before->count; i++) {
            free((void *)(uintptr_t)before->points[i].points);
            observe_free(&before->jobs[i]);
        }
    }
    free(points);
    free(before);
    free(f);
    observe_free(&j);
}
