/* core/call/workload.c: what is written is read back the same; the files of a job's ranks become one. */
#include <unistd.h>

#include "core/call/workload.h"
#include "tests/lib/unit.h"

static struct workload *load(const char *path)
{
    struct err e = {0};
    struct workload *w = workload_load(path, &e);
    if (!w)
        fail_msg("%s", e.text);
    return w;
}

TEST_CASE(round_trip)
{
    char path[] = "/tmp/nccltune-workload-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct err e = {0};
    struct workload *w = load("tests/fixtures/workload/hand.json");
    assert_int_equal(workload_save(w, path, &e), 0);
    struct workload *again = load(path);
    assert_string_equal(again->name, w->name);
    assert_int_equal(again->ranks, w->ranks);
    assert_int_equal(again->nphases, w->nphases);
    for (int i = 0; i < w->nphases; i++) {
        assert_string_equal(again->phases[i].name, w->phases[i].name);
        assert_near(again->phases[i].compute_us, w->phases[i].compute_us, 0);
        assert_int_equal(again->phases[i].ncalls, w->phases[i].ncalls);
        for (int k = 0; k < w->phases[i].ncalls; k++) {
            const struct workload_call *a = &again->phases[i].calls[k], *b = &w->phases[i].calls[k];
            assert_int_equal(a->kind, b->kind);
            assert_int_equal(a->bytes, b->bytes);
            assert_near(a->count, b->count, 0);
            assert_int_equal(a->group_size, b->group_size);
            assert_int_equal(a->place, b->place);
            assert_int_equal(a->stride, b->stride);
            assert_near(a->overlap_us, b->overlap_us, 0);
            assert_near(a->time_us, b->time_us, 0);
            assert_int_equal(a->algo, b->algo);
            assert_int_equal(a->proto, b->proto);
            assert_int_equal(a->channels, b->channels);
        }
    }
    workload_free(again);
    workload_free(w);
    unlink(path);
}

TEST_CASE(unwritable)
{
    struct err e = {0};
    struct workload *w = load("tests/fixtures/workload/hand.json");
    assert_int_not_equal(workload_save(w, "/nowhere/at/all.json", &e), 0);
    assert_non_null(strstr(e.text, "/nowhere/at/all.json"));
    workload_free(w);
}

static const struct workload_call *find(const struct workload *w, int kind, int algo, uint64_t bytes)
{
    for (int i = 0; i < w->phases[0].ncalls; i++) {
        const struct workload_call *c = &w->phases[0].calls[i];
        if (c->kind == kind && c->algo == algo && (!bytes || c->bytes == bytes))
            return c;
    }
    fail_msg("no such call");
    return NULL;
}

TEST_CASE(ranks_become_one)
{
    struct err e = {0};
    struct workload *parts[] = {load("tests/fixtures/workload/rank0.json"), load("tests/fixtures/workload/rank1.json")};
    struct workload *w = workload_merge(parts, 2, &e);
    assert_non_null(w);
    assert_string_equal(w->source, "merged");
    assert_true(w->per_run);
    assert_int_equal(w->nphases, 1);
    assert_int_equal(w->phases[0].ncalls, 4);
    const struct workload_call *ring = find(w, COLL_ALLREDUCE, ALGO_RING, 0);
    assert_near(ring->count, 120, 0);
    assert_near(ring->time_us, 50, 0);
    assert_near(find(w, COLL_ALLREDUCE, ALGO_TREE, 0)->count, 10, 0);
    assert_near(find(w, COLL_ALLREDUCE, ALGO_TREE, 0)->time_us, -1, 0);
    assert_near(find(w, COLL_SENDRECV, -1, 4096)->count, 7, 0);
    assert_near(find(w, COLL_SENDRECV, -1, 8192)->count, 7, 0);
    for (int i = 0; i < 2; i++)
        workload_free(parts[i]);
    workload_free(w);
}

/* A file may say the same call twice: that rank makes both. */
TEST_CASE(same_call_twice_in_one_file)
{
    struct err e = {0};
    struct workload *w = workload_new();
    w->ranks = 2;
    struct workload_phase *p = workload_add_phase(w, "x");
    const struct workload_call c = {COLL_REDUCE, 64, 3, 2, WORKLOAD_NODE, 1, "float32", NULL, -1, -1, -1, -1, 0};
    workload_add_call(w, p, c);
    workload_add_call(w, p, c);
    struct workload *merged = workload_merge((struct workload *[]){w, w}, 2, &e);
    assert_non_null(merged);
    assert_int_equal(merged->phases[0].ncalls, 1);
    assert_near(merged->phases[0].calls[0].count, 6, 0);
    workload_free(merged);
    workload_free(w);
}

/* In one pass: many more would be felt. */
TEST_CASE(many_sizes)
{
    struct err e = {0};
    struct workload *w = workload_new();
    struct workload_phase *p = workload_add_phase(w, "x");
    for (int i = 1; i <= 60000; i++)
        workload_add_call(
            w, p,
            (struct workload_call){COLL_REDUCE, (uint64_t)i, 1, 2, WORKLOAD_NODE, 1, NULL, NULL, -1, -1, -1, -1, 0});
    struct workload *merged = workload_merge((struct workload *[]){w, w, w}, 3, &e);
    assert_non_null(merged);
    assert_int_equal(merged->phases[0].ncalls, 60000);
    workload_free(merged);
    workload_free(w);
}

TEST_CASE(other_jobs_are_refused)
{
    struct err e = {0};
    struct workload *parts[] = {load("tests/fixtures/workload/rank0.json"), load("tests/fixtures/workload/hand.json")};
    assert_null(workload_merge(parts, 2, &e));
    assert_int_equal(e.code, ERR_FAILED);
    assert_non_null(strstr(e.text, "file 2 of 2 is of another job"));
    for (int i = 0; i < 2; i++)
        workload_free(parts[i]);
}

TEST_CASES(test_workload_merge)
